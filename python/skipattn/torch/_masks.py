"""PyTorch's and Hugging Face's conventions of masks, each by its name, to skipattn's masks."""

from __future__ import annotations

from typing import Any, Literal

import torch

from .. import mask as _mask
from ..mask import Mask

try:
    from torch.nn.attention.bias import CausalBias, CausalVariant
except ImportError:  # a prototype in PyTorch, which may move
    CausalBias = CausalVariant = None


def is_causal_bias(mask: object) -> bool:
    """Whether it is one of torch.nn.attention.bias's objects."""
    return CausalBias is not None and isinstance(mask, CausalBias)


def from_causal_bias(bias: Any) -> Mask:
    """`torch.nn.attention.bias.causal_upper_left` or `causal_lower_right` as a causal mask."""
    lower_right = bias.variant == CausalVariant.LOWER_RIGHT
    return _mask.causal(align="bottom_right" if lower_right else "top_left")


def mask_from_sdpa(attn_mask: torch.Tensor) -> Mask:
    """The mask of `torch.nn.functional.scaled_dot_product_attention`.

    attn_mask: bool, true = attend; or floats added to the scores that are all 0 or masking (-inf, or a minimum such as
    `torch.finfo(dtype).min`); or an object of `torch.nn.attention.bias`. Shape [Tq, Tk], [H, Tq, Tk] or [B, H, Tq, Tk];
    an axis of size 1 broadcasts. ValueError for other floats: those are a bias.
    """
    if is_causal_bias(attn_mask):
        return from_causal_bias(attn_mask)
    _require_tensor("attn_mask", attn_mask)
    axes = {2: "qk", 3: "hqk", 4: "bhqk"}.get(attn_mask.dim())
    if axes is None:
        raise ValueError(f"attn_mask has {attn_mask.dim()} axes, expected 2 (qk), 3 (hqk) or 4 (bhqk)")
    return _mask.dense(_attended("attn_mask", attn_mask, true_is="attend"), axes)


def mask_from_key_padding(key_padding_mask: torch.Tensor) -> Mask:
    """The key_padding_mask of `torch.nn.MultiheadAttention`, src_key_padding_mask of `torch.nn.Transformer`.

    key_padding_mask: [B, Tk] (or [Tk] for one sequence), bool where true = ignore this key; or floats, 0 or masking.
    """
    _require_tensor("key_padding_mask", key_padding_mask)
    if key_padding_mask.dim() not in (1, 2):
        raise ValueError(f"key_padding_mask has {key_padding_mask.dim()} axes, expected 2 ([B, Tk]) or 1 ([Tk])")
    valid = _attended("key_padding_mask", key_padding_mask, true_is="ignore")
    return _mask.key_valid(valid if valid.dim() == 2 else valid[None])


def mask_from_attn_mask(attn_mask: torch.Tensor, num_heads: int | None = None) -> Mask:
    """The attn_mask of `torch.nn.MultiheadAttention`, mask and src_mask of `torch.nn.Transformer`.

    attn_mask: [Tq, Tk], or [B * num_heads, Tq, Tk] (then give num_heads); bool where true = do not attend (the opposite
    of scaled_dot_product_attention); or floats, 0 or masking.
    """
    _require_tensor("attn_mask", attn_mask)
    if attn_mask.dim() == 2:
        return _mask.dense(_attended("attn_mask", attn_mask, true_is="ignore"), "qk")
    if attn_mask.dim() != 3:
        raise ValueError(f"attn_mask has {attn_mask.dim()} axes, expected 2 ([Tq, Tk]) or 3 ([B * num_heads, Tq, Tk])")
    if num_heads is None:
        raise ValueError("num_heads is None, expected a number: attn_mask has the axes [B * num_heads, Tq, Tk]")
    if num_heads < 1 or attn_mask.size(0) % num_heads:
        raise ValueError(f"num_heads is {num_heads}, expected a divisor of attn_mask's first size, {attn_mask.size(0)}")
    attended = _attended("attn_mask", attn_mask, true_is="ignore")
    return _mask.dense(attended.unflatten(0, (-1, num_heads)), "bhqk")


def mask_from_huggingface(attention_mask: torch.Tensor) -> Mask:
    """The attention_mask that a Hugging Face tokenizer returns.

    attention_mask: [B, Tk], bool or integers, 1 = a token to attend, 0 = padding. For a causal model:
    `mask_from_huggingface(m) & skipattn.mask.causal(align="bottom_right")`.
    """
    _require_tensor("attention_mask", attention_mask)
    if attention_mask.dim() != 2:
        raise ValueError(f"attention_mask has {attention_mask.dim()} axes, expected 2 ([B, Tk]); "
                         "one of 4 axes is a mask for mask_from_sdpa")
    if attention_mask.dtype.is_floating_point or attention_mask.dtype.is_complex:
        raise ValueError(f"attention_mask is {attention_mask.dtype}, expected bool or integers with 1 = attend; "
                         "floats that are added to scores are for mask_from_key_padding")
    valid = attention_mask != 0
    if not (valid == attention_mask).all():
        raise ValueError("attention_mask has values other than 0 and 1, expected 1 = attend and 0 = padding")
    return _mask.key_valid(valid)


def _attended(name: str, values: torch.Tensor, true_is: Literal["attend", "ignore"]) -> torch.Tensor:
    if values.dtype == torch.bool:
        return values if true_is == "attend" else ~values
    if not values.dtype.is_floating_point:
        fix = f"{name}.bool()" if true_is == "attend" else f"{name}.bool(), if 1 = ignore"
        raise ValueError(f"{name} is {values.dtype}, expected bool (true = {true_is}) or floats (added); pass {fix}")
    attended = _where_zero(values)
    if attended is None:
        raise ValueError(f"{name} has floats that are neither 0 nor mask, expected 0 and -inf (or the type's minimum)")
    return attended


_BLOCK = 1 << 16  # elements looked at together, so that intermediate results stay in the cache: 5 times faster


def _where_zero(floats: torch.Tensor) -> torch.Tensor | None:
    """Where floats that are added to scores are 0, if all others mask: -inf, or values up to -1e30 or to the type's
    minimum, which stand for it; else None, also where there is a NaN."""
    result = torch.empty(floats.shape, dtype=torch.bool)
    if floats.numel() == 0:
        return result
    minimum = max(-1e30, torch.finfo(floats.dtype).min)
    rows = max(1, _BLOCK // floats.size(-1))
    for values, zero in zip(_rows(floats).split(rows), _rows(result).split(rows)):
        torch.eq(values, 0, out=zero)
        if not (zero | (values <= minimum)).all():
            return None
    return result


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten(0, -2) if tensor.dim() > 1 else tensor[None]


def _require_tensor(name: str, value: object) -> None:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} is {type(value).__name__}, expected a torch.Tensor")

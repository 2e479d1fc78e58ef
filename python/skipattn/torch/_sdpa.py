"""scaled_dot_product_attention of torch.nn.functional by skipattn, with PyTorch's own for what is not built yet."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
import torch.nn.functional as F

from .. import bias as _bias
from .. import mask as _mask
from . import _masks
from ._operator import bias_arguments, mask_arguments


class FallbackWarning(UserWarning):
    """A call went to PyTorch's own kernel. `warnings.simplefilter("error", FallbackWarning)` makes it an error."""


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """A drop-in for `torch.nn.functional.scaled_dot_product_attention`: same arguments, shapes and meaning.

    query [..., Hq, Tq, D], key [..., H, Tk, D], value [..., H, Tk, Dv]; leading axes broadcast. attn_mask: bool (true =
    attend), floats (added) or an object of torch.nn.attention.bias, broadcast to [..., Hq, Tq, Tk]. is_causal is
    top-left; with an attn_mask both count. A row that attends nothing gives 0. Returns [..., Hq, Tq, Dv]; where query
    has heads inside positions in memory, so has the result. Nothing is copied but an input whose last stride is not 1,
    or whose leading axes cannot be joined in place. Threads are torch.get_num_threads().

    What skipattn does not do goes to PyTorch's function, with a FallbackWarning: types other than float32, autocast,
    dropout, inputs that require grad, torch.func, other devices. So do arguments that do not fit: PyTorch raises its
    own errors.
    """
    out, reason = attempt(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if out is not None:
        return out
    warnings.warn(f"computed by PyTorch, not by skipattn: {reason}", FallbackWarning, stacklevel=2)
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def attempt(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """The result and "", or, where skipattn does not do this call, None and why not."""
    reason = _unsupported(query, key, value, dropout_p, scale)
    if reason:
        return None, reason
    lead = _broadcast_lead(query, key, value, enable_gqa)
    if lead is None:
        return None, "leading axes that do not fit"
    mask, bias, reason = _mask_of(attn_mask, is_causal, (*lead, query.size(-2), key.size(-2)), query.dtype)
    if reason:
        return None, reason
    return _run(query, key, value, mask, bias, scale, lead), ""


def _unsupported(query: Any, key: Any, value: Any, dropout_p: float, scale: float | None) -> str:
    for tensor in (query, key, value):
        if not isinstance(tensor, torch.Tensor) or tensor.is_nested or tensor.layout != torch.strided:
            return "an input that is not a dense tensor"
        if tensor.device.type != "cpu":
            return f"device {tensor.device.type}"
        if tensor.dtype != torch.float32:
            return f"dtype {tensor.dtype}"
        if tensor.dim() < 2:
            return "an input of less than two axes"
        if tensor.requires_grad and torch.is_grad_enabled():
            return "an input that requires grad"
        if _in_transform(tensor):
            return "a transform of torch.func"
    if dropout_p != 0:
        return "dropout_p"
    if torch.is_autocast_enabled("cpu"):
        return "autocast"  # PyTorch computes in the type of the autocast
    if scale is not None and not math.isfinite(scale):
        return f"scale {scale}"
    if query.size(-1) != key.size(-1) or key.size(-2) != value.size(-2):
        return "sizes that do not fit"
    if query.size(-1) == 0 or value.size(-1) == 0:
        return "a head size of 0"
    return ""


def _in_transform(tensor: torch.Tensor) -> bool:
    """Whether torch.vmap or the like sees through it: the operator has no batching rule."""
    return not torch.compiler.is_compiling() and torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def _broadcast_lead(query, key, value, enable_gqa: bool) -> tuple[int, ...] | None:
    """The leading axes of the result, heads included; at least one."""
    leads = [tuple(tensor.shape[:-2]) or (1,) for tensor in (query, key, value)]
    if enable_gqa:
        heads, kv_heads, v_heads = (lead[-1] for lead in leads)
        if kv_heads != v_heads or kv_heads == 0 or heads % kv_heads:
            return None
        leads = [leads[0], (*leads[1][:-1], heads), (*leads[2][:-1], heads)]
    if leads[0] == leads[1] == leads[2]:
        lead = leads[0]  # as nearly all calls are: broadcast_shapes takes longer than all the rest
    else:
        try:
            lead = tuple(torch.broadcast_shapes(*leads))
        except RuntimeError:
            return None
    return lead if lead[-1] else None


def _mask_of(attn_mask: Any, is_causal: bool, shape: tuple[int, ...], dtype: torch.dtype):
    """The mask, the bias (None = none) and "", or why there are none. shape: that of the scores."""
    causal = _mask.causal(align="top_left") if is_causal else None
    if attn_mask is None:
        return causal, None, ""
    if _masks.is_causal_bias(attn_mask):
        if is_causal or (attn_mask.seq_len_q, attn_mask.seq_len_kv) != shape[-2:]:
            return None, None, "a causal bias that does not fit"
        return _masks.from_causal_bias(attn_mask), None, ""
    if not isinstance(attn_mask, torch.Tensor) or attn_mask.is_nested or attn_mask.layout != torch.strided:
        return None, None, "an attn_mask that is not a dense tensor"
    if attn_mask.device.type != "cpu" or attn_mask.requires_grad and torch.is_grad_enabled():
        return None, None, "an attn_mask that requires grad or is on another device"
    if _in_transform(attn_mask):
        return None, None, "a transform of torch.func"
    if not 2 <= attn_mask.dim() <= len(shape) or any(
        size not in (1, full) for size, full in zip(reversed(attn_mask.shape), reversed(shape))
    ):
        return None, None, "an attn_mask that does not fit"
    if attn_mask.dtype not in (torch.bool, dtype):
        return None, None, f"an attn_mask of {attn_mask.dtype}"
    if attn_mask.dim() > 3:
        attn_mask = _flat(attn_mask, shape[:-3], attn_mask.size(-3))
    axes = "bhqk"[-attn_mask.dim():]
    if attn_mask.dtype != torch.bool:
        return causal, _bias.dense(attn_mask.detach(), axes), ""
    dense = _mask.dense(attn_mask, axes)
    return dense if causal is None else dense & causal, None, ""


def _flat(tensor: torch.Tensor, batch: tuple[int, ...], heads: int) -> torch.Tensor:
    """[batch..., heads, x, y], or what broadcasts to it, as [B, heads, x, y]: a view, where strides allow it."""
    if tensor.dim() == 4 and tensor.shape[:-2] == (*batch, heads):
        return tensor  # as nearly all calls are
    return tensor.expand(*(batch or (1,)), heads, -1, -1).flatten(0, -4)


def _run(query, key, value, mask, bias, scale: float | None, lead: tuple[int, ...]) -> torch.Tensor:
    batch, heads = lead[:-1], lead[-1]
    kv_heads = key.size(-3) if key.dim() > 2 and value.dim() > 2 and key.size(-3) == value.size(-3) else heads
    q, k, v = _flat(query, batch, heads), _flat(key, batch, kv_heads), _flat(value, batch, kv_heads)
    q, k, v = (t if t.stride(-1) == 1 or t.size(-1) == 1 else t.contiguous() for t in (q, k, v))
    # Heads inside positions, as projections leave them: then the result is so too.
    layout = "bthd" if q.stride(1) < q.stride(2) else "bhtd"
    if layout == "bthd":
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    # No warning of masks that look upside down: batches may be padding for the most part.
    out, _ = torch.ops.skipattn.attention(q, k, v, *mask_arguments(mask), *bias_arguments(bias), scale=scale,
                                          layout=layout, warn=False)
    if layout == "bthd":
        out = out.transpose(1, 2)
    if query.dim() == 4 and len(lead) == 2:
        return out
    return out.reshape(out.shape[-2:] if lead == (1,) and query.dim() == 2 else (*lead, *out.shape[-2:]))

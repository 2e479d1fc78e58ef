"""The Attention operator of ONNX (opsets 23 to 25), with its names and meaning, on numpy arrays."""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import numpy

from . import _attention, mask

__all__ = ["Outputs", "attention"]


class Outputs(NamedTuple):
    """The operator's outputs, in its order; None for those that were not asked for."""

    Y: Any
    present_key: Any
    present_value: Any
    qk_matmul_output: Any


def attention(
    Q: Any,
    K: Any,
    V: Any,
    attn_mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    nonpad_kv_seqlen: Any = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int | None = None,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    threads: int | None = None,
) -> Outputs:
    """What a node of type Attention computes from these inputs and attributes.

    Q, K, V: [B, H, T, D] each; or [B, T, H * D], with q_num_heads and kv_num_heads. float32.
    attn_mask: bool (true = attend) or floats that are added, of 1 to 4 axes, the last of [B, Hq, Tq, Tk]; a last axis
        that is shorter than Tk leaves the keys beyond out.
    past_key, past_value: [B, Hkv, P, D], the keys and values before K and V; both or neither. Then present_key and
        present_value are the two joined, which copies them; Tk counts both.
    nonpad_kv_seqlen: [B] integers: how many keys of a cache are filled.
    is_causal, left_window_size, right_window_size: relative to the position of a query, which is its index plus P, or
        plus nonpad_kv_seqlen - Tq, or as it is.
    qk_matmul_output_mode: not None asks for qk_matmul_output [B, Hq, Tq, Tk]: 0 the scores, 1 after the softcap, 2 with
        mask and bias, 3 the weights. It is computed in float64 by skipattn.reference, slowly, and then rounded.
    softmax_precision: accepted, and changes nothing: the softmax is float32 whatever is asked for.
    threads: as of skipattn.attention, which runs.

    Raises ValueError or TypeError where an argument is wrong.
    """
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key or past_value is given alone, expected both or neither")
    if past_key is not None and nonpad_kv_seqlen is not None:
        raise ValueError("nonpad_kv_seqlen is given beside past_key, expected one of them")
    if softmax_precision not in (None, 1, 10, 11, 16):
        raise ValueError(f"softmax_precision is {softmax_precision}, expected 1, 10, 11 or 16")
    if qk_matmul_output_mode not in (None, 0, 1, 2, 3):
        raise ValueError(f"qk_matmul_output_mode is {qk_matmul_output_mode}, expected 0 to 3")
    q = _four("Q", Q, q_num_heads, "q_num_heads")
    k = _four("K", K, kv_num_heads, "kv_num_heads")
    v = _four("V", V, kv_num_heads, "kv_num_heads")
    offset: Any = 0
    if past_key is not None:
        offset = k.shape[2]
        k, v = numpy.concatenate((past_key, k), axis=2), numpy.concatenate((past_value, v), axis=2)
        offset = k.shape[2] - offset
    elif nonpad_kv_seqlen is not None:
        offset = numpy.asarray(nonpad_kv_seqlen) - q.shape[2]
    masks, bias, keys = _masking(attn_mask, nonpad_kv_seqlen, k.shape[2])
    if is_causal:
        masks.append(mask.causal(offset=offset))
    if left_window_size != -1 or right_window_size != -1:
        masks.append(mask.window(left_window_size, right_window_size, offset=offset))
    every = functools.reduce(operator.and_, masks) if masks else None

    used = k[:, :, :keys]
    scoring = {"bias": bias, "scale": scale, "softcap": softcap or None}
    out = _attention.attention(q, used, v[:, :, :keys], every, threads=threads, **scoring)
    scores = None
    if qk_matmul_output_mode == 0:
        scores = _scores(q, k, None, {"scale": scale})
    elif qk_matmul_output_mode == 1:
        scores = _scores(q, k, None, scoring | {"bias": None})
    elif qk_matmul_output_mode == 2:
        scores = _widen(_scores(q, used, every, scoring), k.shape[2], -numpy.inf)
    elif qk_matmul_output_mode == 3:
        scores = _widen(_weights(q, used, every, scoring), k.shape[2], 0)
    if numpy.ndim(Q) == 3:
        out = out.swapaxes(1, 2).reshape(out.shape[0], out.shape[2], -1)
    present_key, present_value = (None, None) if past_key is None else (k, v)
    return Outputs(out, present_key, present_value, None if scores is None else scores.astype(q.dtype))


def _four(name: str, given: Any, heads: int | None, heads_name: str) -> Any:
    """[B, H, T, D], which of three axes is a view wherever numpy can make one."""
    array = numpy.asarray(given)
    if array.ndim == 4:
        if heads is not None:
            raise ValueError(f"{heads_name} is {heads}, expected none where {name} has 4 axes, which tell it")
        return array
    if array.ndim != 3:
        raise ValueError(f"{name}: rank is {array.ndim}, expected 4, or 3 with q_num_heads and kv_num_heads")
    if heads is None or heads < 1 or array.shape[2] % heads:
        raise ValueError(f"{heads_name} is {heads}, expected a divisor of {name}'s last size, {array.shape[2]}")
    return array.reshape(*array.shape[:2], heads, -1).swapaxes(1, 2)


def _masking(attn_mask: Any, nonpad_kv_seqlen: Any, total: int) -> tuple[list[mask.Mask], Any, int]:
    """Masks, a bias or None, and how many keys there are to look at: a short attn_mask leaves the others out."""
    masks, bias, keys = [], None, total
    if nonpad_kv_seqlen is not None:
        masks.append(mask.key_lengths(numpy.asarray(nonpad_kv_seqlen)))
    if attn_mask is not None:
        values = numpy.asarray(attn_mask)
        if not 1 <= values.ndim <= 4:
            raise ValueError(f"attn_mask: rank is {values.ndim}, expected 1 to 4")
        keys = min(total, values.shape[-1])
        values = values.reshape((1,) * (4 - values.ndim) + values.shape)
        if values.dtype == bool:
            masks.append(mask.dense(values))
        else:
            bias = values
    if nonpad_kv_seqlen is not None and keys < total and max(nonpad_kv_seqlen, default=0) > keys:
        raise ValueError(f"nonpad_kv_seqlen is up to {max(nonpad_kv_seqlen)}, expected at most attn_mask's {keys} keys")
    return masks, bias, keys


def _weights(q: Any, k: Any, every: Any, scoring: dict[str, Any]) -> Any:
    """float64 [B, Hq, Tq, Tk]: the output where the value of each key is a unit vector."""
    k_len = k.shape[2]
    unit = numpy.broadcast_to(numpy.eye(k_len, dtype=q.dtype), (*k.shape[:2], k_len, k_len))
    return _attention.reference(q, k, unit, every, float64=True, **scoring)


def _scores(q: Any, k: Any, every: Any, scoring: dict[str, Any]) -> Any:
    """float64 [B, Hq, Tq, Tk]: the lse of rows that attend one key."""
    scores = numpy.empty((*q.shape[:3], k.shape[2]))
    for j in range(k.shape[2]):
        one = mask.key_range([j] * q.shape[0], [j + 1] * q.shape[0])
        one = one if every is None else one & every
        _, scores[..., j] = _attention.reference(q, k, k, one, float64=True, return_lse=True, **scoring)
    return scores


def _widen(values: Any, k_len: int, beyond: float) -> Any:
    wide = numpy.full((*values.shape[:3], k_len), beyond, values.dtype)
    wide[..., : values.shape[3]] = values
    return wide

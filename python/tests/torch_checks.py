"""What the PyTorch tests share: float64 attention by PyTorch's math kernel, and the error bound of float32."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

EPS = 2.0**-24


def math64(query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """PyTorch's attention in float64. A row without a key gives 0."""
    if is_causal and attn_mask is not None:  # the math kernel takes one of them
        causal = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
        attn_mask = attn_mask & causal if attn_mask.dtype == torch.bool else attn_mask.masked_fill(~causal, -torch.inf)
        is_causal = False
    if attn_mask is not None and attn_mask.dtype != torch.bool:
        attn_mask = attn_mask.double()
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(query.double(), key.double(), value.double(), attn_mask,
                                              is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)


def bound(query, key, value, scale=None, bias=None):
    """The most that float32 may differ from float64, for each row: eps V (64 + 2 (D + 2) S + 2 min(n, 128) + n / 64).

    S and V are taken over all keys, whatever the mask: [..., Tq, 1].
    """
    query, key = query.double(), key.double()
    if key.dim() > 2 and query.dim() > 2 and query.size(-3) % key.size(-3) == 0:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), dim=-3)
    dim, keys = query.size(-1), key.size(-2)
    factor = abs(1 / math.sqrt(dim) if scale is None else scale) * math.log2(math.e)
    if keys == 0:
        return torch.zeros(1, dtype=torch.float64)
    score = query.abs() * factor @ key.abs().transpose(-2, -1)
    if bias is not None:
        score = score + bias.double().abs().nan_to_num(0, 0, 0) * math.log2(math.e)
    score = score.amax(-1, keepdim=True)
    largest = float(value.abs().max())
    return EPS * largest * (64 + 2 * (dim + 2) * score + 2 * min(keys, 128) + keys / 64)


def assert_close(out, expected, limit):
    assert out.shape == expected.shape
    assert out.dtype == torch.float32
    difference = (out.double() - expected).abs()
    assert bool((difference <= limit).all()), f"off by {float(difference.max())}, rounding is {float(limit.max())}"

"""Additive float masks that do nothing but mask, and the bool masks that they equal."""

from __future__ import annotations

from typing import Literal

import torch

from ._contents import ContentCache, one_plane

# Converting takes longer than comparing with a copy, and floats are large: kept at any size that fits.
_kept = ContentCache(max_values=16, max_bytes=256 << 20, max_bytes_each=256 << 20)

# What a minimum does, that is a value <= -1e30 or the lowest finite value of the mask's type, which stands for -inf in
# many models: it masks; it masks in rows that also attend a key, and elsewhere it is not a mask (a row of nothing but
# minima is shifted as a whole); it is not a mask.
Minimum = Literal["masks", "masks beside a key", "is no mask"]

_BLOCK = 1 << 16  # elements looked at together, so that intermediate results stay in the cache: 5 times faster


def as_bool(mask: torch.Tensor, minimum: Minimum) -> torch.Tensor | None:
    """`attended` of a mask, found once per contents; every call reads `mask`, to compare it with a kept copy.

    The result may have size 1 where `mask` is broadcast.
    """
    return _kept.get(minimum, [mask], lambda copies: attended(one_plane(copies[0]), minimum))


def attended(mask: torch.Tensor, minimum: Minimum) -> torch.Tensor | None:
    """Where `mask` is 0, if that with "true = attend" equals adding `mask` to the scores; else None."""
    result = torch.empty(mask.shape, dtype=torch.bool)
    if mask.numel() == 0:
        return result
    lowest = -torch.inf if minimum == "is no mask" else max(-1e30, torch.finfo(mask.dtype).min)
    rows = max(1, _BLOCK // mask.size(-1))
    for values, zero in zip(_rows(mask).split(rows), _rows(result).split(rows)):
        torch.eq(values, 0, out=zero)
        masked = values <= lowest
        if not (zero | masked).all():  # also where there is a NaN
            return None
        if minimum == "masks beside a key":
            finite = masked & (values != -torch.inf)
            if (finite.any(-1) & ~zero.any(-1)).any():
                return None
    return result


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten(0, -2) if tensor.dim() > 1 else tensor[None]

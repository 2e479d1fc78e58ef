"""Masked attention for CPUs that does only the work the mask leaves.

    import skipattn as sa
    out = sa.attention(q, k, v, sa.mask.key_lengths([128, 40]) & sa.mask.causal())

Arrays go in without a copy through DLPack or the buffer protocol (numpy, torch, jax, tensorflow);
what comes out is of the same kind. In every mask, true means attend.
"""

from . import bias, mask
from ._attention import attention, info, merge, plan, reference
from ._core import Plan, PlanStats
from .bias import Bias
from .mask import Mask

__version__: str = info()["version"]

__all__ = ["Bias", "Mask", "Plan", "PlanStats", "attention", "bias", "info", "mask", "merge", "plan", "reference"]

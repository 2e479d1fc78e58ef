"""skipattn for PyTorch 2.4 and newer: an operator, a drop-in for scaled_dot_product_attention, a context for models."""

from ._enabled import enabled
from ._masks import mask_from_attn_mask, mask_from_huggingface, mask_from_key_padding, mask_from_sdpa
from ._operator import attention
from ._sdpa import FallbackWarning, scaled_dot_product_attention

__all__ = ["FallbackWarning", "attention", "enabled", "mask_from_attn_mask", "mask_from_huggingface",
           "mask_from_key_padding", "mask_from_sdpa", "scaled_dot_product_attention"]

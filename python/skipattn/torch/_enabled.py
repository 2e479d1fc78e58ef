"""A context in which models that call PyTorch's scaled_dot_product_attention get skipattn's."""

from __future__ import annotations

import types
from collections import Counter
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from ._sdpa import attempt


class enabled(TorchFunctionMode):  # noqa: N801, used as a function
    """Takes over `torch.nn.functional.scaled_dot_product_attention` inside a `with` block, models unchanged.

        with skipattn.torch.enabled() as e:
            y = model(x)
        print(e.calls, e.fallbacks)

    calls: how many calls skipattn computed. fallbacks: a Counter of those left to PyTorch, by reason (see
    `skipattn.torch.scaled_dot_product_attention`). Both count on over several blocks of one object.

    It acts on the thread that enters it alone, contexts nest (a call counts in the innermost), and an exception leaves
    nothing behind: nothing global is changed. The fused fast path of nn.MultiheadAttention and
    nn.TransformerEncoderLayer, which calls no scaled_dot_product_attention, is off inside by PyTorch's own rule for
    every active TorchFunctionMode; on other threads it stays on. Models compiled inside get skipattn where they call
    scaled_dot_product_attention themselves with no mask or a bool one; PyTorch's own modules stay as they are when
    compiled.

    While it is active, each call of a torch function takes some microseconds more. Use one object for each thread: its
    counts are not locked.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.fallbacks: Counter[str] = Counter()
        self._multi_head: types.FunctionType | None = None

    def __torch_function__(self, func: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return self._attention(*args, **kwargs)
        if func is F.multi_head_attention_forward and not torch.compiler.is_compiling():
            return self._multi_head_attention(*args, **kwargs)
        return func(*args, **kwargs)

    def _attention(self, *args, **kwargs):
        out, reason = attempt(*args, **kwargs)
        if out is None:
            self.fallbacks[reason] += 1
            return F.scaled_dot_product_attention(*args, **kwargs)
        self.calls += 1
        return out

    def _multi_head_attention(self, *args, **kwargs):
        # A mode does not see what a function calls that it was handed itself. This one is Python and calls
        # scaled_dot_product_attention by its global name, so a copy of it runs that finds ours there.
        if self._multi_head is None:
            names = {**F.multi_head_attention_forward.__globals__,
                     "scaled_dot_product_attention": self._attention,
                     "has_torch_function": lambda _: False}
            original = F.multi_head_attention_forward
            self._multi_head = types.FunctionType(original.__code__, names, original.__name__,
                                                  original.__defaults__, original.__closure__)
            self._multi_head.__kwdefaults__ = original.__kwdefaults__
        return self._multi_head(*args, **kwargs)

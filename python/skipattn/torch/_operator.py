"""The operators skipattn::attention and skipattn::attention_out, and the function that calls them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import torch
from torch.utils.dlpack import to_dlpack

from .. import _core
from .. import bias as _bias
from .. import mask as _mask
from ._contents import ContentCache

# Plans, and whether their runs need a bias, by the contents of masks and biases. Planning scans a large mask once,
# which takes no longer than comparing it with a copy (a bool mask of 2 MiB 0.2 ms, of 16 MiB 1 ms, each below 1 % of a
# run), so those plans are not worth keeping.
plans = ContentCache(max_values=64, max_bytes=64 << 20, max_bytes_each=1 << 20)

_INPUTS = ("Tensor q, Tensor k, Tensor v, str mask, SymInt[] mask_ints, Tensor[] mask_arrays, "
           "str bias, SymInt[] bias_ints, Tensor[] bias_arrays, Tensor? sinks=None")
_OPTIONS = ("float? scale=None, float? softcap=None, str layout='bhtd', bool return_lse=False, str empty_rows='zero', "
            "str precision='exact', str backend='auto', int? threads=None, SymInt[]? key_origin=None, "
            "str? config=None, bool warn=True")
# Strides are part of a call (layout, last stride 1): a compiler must hand over those that it traced.
_TAGS = (torch.Tag.needs_fixed_stride_order,)

_library = torch.library.Library("skipattn", "DEF")
_library.define(f"attention({_INPUTS}, *, {_OPTIONS}) -> (Tensor out, Tensor lse)", tags=_TAGS)
_library.define(f"attention_out({_INPUTS}, *, {_OPTIONS}, Tensor(a!) out) -> Tensor lse", tags=_TAGS)


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: _mask.Mask | torch.Tensor | None = None,
    *,
    scale: float | None = None,
    softcap: float | None = None,
    bias: _bias.Bias | torch.Tensor | None = None,
    sinks: torch.Tensor | None = None,
    layout: str = "bhtd",
    out: torch.Tensor | None = None,
    return_lse: bool = False,
    empty_rows: str = "zero",
    precision: str = "exact",
    backend: str = "auto",
    threads: int | None = None,
    key_origin: int | Sequence[int] | None = None,
    config: str | None = None,
) -> Any:
    """`skipattn.attention` for torch tensors, as a PyTorch operator: torch.compile and torch.export take it.

    q [B, Hq, Tq, D], k [B, Hkv, Tk, D], v [B, Hkv, Tk, Dv]; with layout="bthd", [B, T, H, D] each. float32 on the CPU,
    any strides but the last, which must be 1; never copied. mask: a skipattn.Mask (those of its arrays that are no
    tensors are copied), a bool tensor of rank 4 (true means attend), or None. bias: a skipattn.Bias, a float32 tensor
    of rank 4, or None. threads: None = torch.get_num_threads(). The other arguments are those of skipattn.attention.

    Returns out, contiguous in the layout, or (out, lse) with return_lse, lse being [B, Hq, Tq] float32. With `out`,
    writes there and returns it.

    Plans are kept: calls whose masks and biases have equal contents, whatever tensors hold them, plan once. Each call
    reads them, to compare them with a copy, or, where their arrays take more than 1 MiB, to plan anew, which is no
    slower.

    Raises ValueError or TypeError for a bad argument, and RuntimeError for an input that requires grad: there is no
    backward yet.
    """
    for name, tensor in (("q", q), ("k", k), ("v", v), ("out", out), ("sinks", sinks)):
        if not isinstance(tensor, torch.Tensor) and (name in "qkv" or tensor is not None):
            raise TypeError(f"{name} is {type(tensor).__name__}, expected a torch.Tensor")
    arguments = (q, k, v, *mask_arguments(mask), *bias_arguments(bias), sinks)
    options = dict(scale=scale, softcap=softcap, layout=layout, return_lse=return_lse, empty_rows=empty_rows,
                   precision=precision, backend=backend, threads=threads, key_origin=_as_list(key_origin),
                   config=config)
    if out is None:
        out, lse = torch.ops.skipattn.attention(*arguments, **options)
    else:
        lse = torch.ops.skipattn.attention_out(*arguments, **options, out=out)
    return (out, lse) if return_lse else out


def mask_arguments(mask: Any) -> tuple[str, list[int], list[torch.Tensor]]:
    """A mask as it crosses the operator; None is the empty string."""
    if isinstance(mask, torch.Tensor):
        mask = _mask.dense(mask)
    elif mask is not None and not isinstance(mask, _mask.Mask):
        raise TypeError(f"mask is {type(mask).__name__}, expected a skipattn.Mask or a bool tensor of rank 4")
    return _spec_of(mask)


def bias_arguments(bias: Any) -> tuple[str, list[int], list[torch.Tensor]]:
    """The same of a bias."""
    if isinstance(bias, torch.Tensor):
        bias = _bias.dense(bias)
    elif bias is not None and not isinstance(bias, _bias.Bias):
        raise TypeError(f"bias is {type(bias).__name__}, expected a skipattn.Bias or a float32 tensor of rank 4")
    return _spec_of(bias)


def _spec_of(terms: Any) -> tuple[str, list[int], list[torch.Tensor]]:
    if terms is None:
        return "", [], []
    spec, ints, arrays = terms.to_spec()
    return spec, ints, [_as_tensor(array) for array in arrays]


def _as_tensor(array: Any) -> torch.Tensor:
    if isinstance(array, torch.Tensor):
        return array
    return torch.tensor(numpy.asarray(array))


def _as_list(key_origin):
    if key_origin is None or isinstance(key_origin, (list, tuple)):
        return key_origin
    return [key_origin] if isinstance(key_origin, int) else [int(origin) for origin in key_origin]


# --------------------------------------------------------------------------------------------- kernels


def _attention(q, k, v, *terms, return_lse=False, **options):
    out = q.new_empty(_out_shape(q, v))
    return out, _run(q, k, v, *terms, out=out, return_lse=return_lse, **options)


def _attention_out(q, k, v, *terms, out, return_lse=False, **options):
    return _run(q, k, v, *terms, out=out, return_lse=return_lse, **options)


def _run(q, k, v, mask, mask_ints, mask_arrays, bias, bias_ints, bias_arrays, sinks=None, *, out, return_lse,
         scale=None, softcap=None, layout="bhtd", empty_rows="zero", precision="exact", backend="auto", threads=None,
         key_origin=None, config=None, warn=True):
    if torch.is_grad_enabled():
        _refuse_grad(q=q, k=k, v=v, out=out, sinks=sinks, bias=bias_arrays[0] if bias_arrays else None)
    if threads is None:
        threads = torch.get_num_threads()
    settings = (scale, empty_rows, precision, backend, threads, tuple(key_origin or ()), config, layout, softcap)

    def make(copies):
        terms = _mask.from_spec(mask, mask_ints, copies).compile() if mask else None
        added = _bias.from_spec(bias, bias_ints, copies[len(mask_arrays):]).compile() if bias else None
        origin = numpy.array(key_origin) if key_origin else None
        plan = _core.plan(q.shape, k.shape, v.shape, str(q.dtype).removeprefix("torch."), terms, added, False,
                          sinks is not None, (*settings[:5], origin, *settings[6:]), _WARN_LEVEL if warn else 0)
        return plan, bool(bias) and plan.stats.needs_bias

    key = (q.dtype, q.shape, k.shape, v.shape, mask, tuple(mask_ints), bias, tuple(bias_ints), sinks is not None,
           settings, warn)
    plan, needs_bias = plans.get(key, [*mask_arrays, *bias_arrays], make)
    added = _bias.from_spec(bias, bias_ints, bias_arrays) if needs_bias else None
    # As capsules: importing tensors by their __dlpack__ takes 2 us each.
    result = plan.run(to_dlpack(q), to_dlpack(k), to_dlpack(v), to_dlpack(out), added,
                      None if sinks is None else to_dlpack(sinks), return_lse=return_lse)
    return torch.from_numpy(result[1]) if return_lse else q.new_empty(0)


def _refuse_grad(**tensors):
    for name, tensor in tensors.items():
        if tensor is not None and tensor.requires_grad:
            raise RuntimeError(f"{name} requires grad, and there is no backward yet: call under torch.no_grad(), "
                               f"or pass {name}.detach()")


# Warnings about a mask name the caller of `attention`: that many Python functions above `make` in a plain call.
_WARN_LEVEL = 7


def _attention_fake(q, k, v, *terms, return_lse=False, layout="bhtd", **options):
    return q.new_empty(_out_shape(q, v)), _lse_fake(q, layout, return_lse)


def _attention_out_fake(q, k, v, *terms, out, return_lse=False, layout="bhtd", **options):
    return _lse_fake(q, layout, return_lse)


def _out_shape(q, v):
    return (*q.shape[:-1], v.shape[-1])


def _lse_fake(q, layout, return_lse):
    batch, first, second = q.shape[:3]
    return q.new_empty(((batch, first, second) if layout == "bhtd" else (batch, second, first)) if return_lse else (0,))


for _name, _kernel in (("attention", _attention), ("attention_out", _attention_out)):
    _library.impl(_name, _kernel, "CPU")
    _library.impl(_name, torch.library.fallthrough_kernel, "Autograd")  # the kernel refuses what requires grad
torch.library.register_fake("skipattn::attention", _attention_fake, lib=_library)
torch.library.register_fake("skipattn::attention_out", _attention_out_fake, lib=_library)

"""The calls: attention, plan, merge, reference, info."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy

from . import _core
from . import bias as _bias
from .mask import Mask, dense

Layout = Literal["bhtd", "bthd"]
EmptyRows = Literal["zero", "uniform", "nan", "keep"]
Precision = Literal["exact", "fast"]
Backend = Literal["auto", "reference"]


def attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    *,
    scale: float | None = None,
    softcap: float | None = None,
    bias: Any = None,
    sinks: Any = None,
    layout: Layout = "bhtd",
    out: Any = None,
    return_lse: bool = False,
    empty_rows: EmptyRows = "zero",
    precision: Precision = "exact",
    backend: Backend = "auto",
    threads: int | None = None,
    key_origin: Any = None,
    config: str | None = None,
) -> Any:
    """out_i = sum_j softmax_j(scale * q_i . k_j + bias) * v_j over the keys j that the mask allows.

    q: [B, Hq, Tq, D], k: [B, Hkv, Tk, D], v: [B, Hkv, Tk, Dv], float32, on the CPU; or, with
        layout="bthd", [B, T, H, D] each. Anything with DLPack or the buffer protocol, never copied;
        any strides (0 and negative too), but the last one must be 1. Read-only arrays are fine.
        Query head h reads key head h // (Hq // Hkv).
    mask: a skipattn.Mask, a bool array of rank 4 (true means attend; axes of size 1 broadcast), or
        None: every key.
    scale: factor of q . k, 1 / sqrt(D) when None.
    softcap: c: a score s = scale * q . k becomes c * tanh(s / c). None or 0: no cap.
    bias: added to the scores: a skipattn.bias.Bias, or a float32 array of rank 4 (axes of size 1
        broadcast). Where it is -inf it masks, and that is skipped as well as with a mask.
    sinks: float32 [Hq], a logit per query head: exp(sink) joins the sum of exp(score), in lse too,
        and has no value. At most 1e30; -inf = none for that head.
    out: written in place and returned; must not overlap an input. When None, a new array of q's
        kind (numpy, torch, jax or tensorflow; else numpy), 64-byte aligned.
    return_lse: return (out, lse), lse being [B, Hq, Tq] float32 in both layouts: the natural
        logarithm of the sum of exp(score).
    empty_rows: what a row without a key gives: "zero", "uniform" (the mean of v over all keys,
        masked ones included), "nan", or "keep", which leaves it in `out` as it was. Its lse is
        -inf. With a sink no row is empty: such a row gives 0 and the lse of the sink alone.
    precision: "exact": defined to the last bit, whatever the CPU, threads and form of the mask.
    backend: "auto", or "reference": the definition as plain loops, same bits, slow.
    threads: at most so many; None = all that the process may use. The GIL is released meanwhile.
    key_origin: where the grid of 128-key chunks begins: None (found from the mask), an int, or one
        per batch entry.
    config: a tile configuration by name (skipattn.info lists them); changes time only.

    Raises ValueError where an argument's value is wrong, TypeError where it is the wrong kind of
    object; nothing is written then. Warns (UserWarning) where a bool mask leaves most rows without
    a key. To use a mask more than once, make a plan.
    """
    return _core.attention(
        q,
        k,
        v,
        _compile(mask),
        _compile_bias(bias),
        sinks,
        out,
        return_lse,
        (scale, empty_rows, precision, backend, threads, _origins(key_origin), config, layout, softcap),
    )


def plan(
    q_shape: Sequence[int],
    k_shape: Sequence[int],
    v_shape: Sequence[int],
    dtype: Any = "float32",
    mask: Any = None,
    *,
    scale: float | None = None,
    softcap: float | None = None,
    bias: Any = None,
    sinks: bool = False,
    layout: Layout = "bhtd",
    empty_rows: EmptyRows = "zero",
    precision: Precision = "exact",
    backend: Backend = "auto",
    threads: int | None = None,
    key_origin: Any = None,
    config: str | None = None,
) -> _core.Plan:
    """Compile a mask for arrays of these shapes; the plan's run() computes.

    q_shape, k_shape, v_shape: four sizes each, in the order of `layout`.
    dtype: of q, k, v and out: "float32", or what numpy and torch call it.
    bias: what of a bias is known now. Of a dense one the plan takes where it masks; the values are
        the runs' (stats.needs_bias tells whether they are wanted at all). True: every run brings a
        dense one, of which nothing is known yet.
    sinks: True where every run brings sinks.
    Everything else as for skipattn.attention. The arrays of mask and bias are not needed afterwards.
    """
    if not isinstance(sinks, bool):
        raise TypeError(f"sinks is of type {type(sinks).__name__}, expected True or False: the runs bring the array")
    return _core.plan(
        q_shape,
        k_shape,
        v_shape,
        _dtype_name(dtype),
        _compile(mask),
        None if isinstance(bias, bool) else _compile_bias(bias),
        bias is True,
        sinks,
        (scale, empty_rows, precision, backend, threads, _origins(key_origin), config, layout, softcap),
    )


def reference(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    *,
    float64: bool = False,
    scale: float | None = None,
    bias: Any = None,
    layout: Layout = "bhtd",
    return_lse: bool = False,
    **options: Any,
) -> Any:
    """skipattn.attention by the definition: plain loops, the same bits, slow.

    Arguments as for skipattn.attention. With float64, what it returns is float64: the operation
    itself, which the exact float32 arithmetic approximates; of the options, softcap, bias, sinks and
    empty_rows mean something then.
    """
    if float64:
        given = {name: options.pop(name, None) for name in ("sinks", "softcap")}
        empty_rows = options.pop("empty_rows", "zero")
        if options:
            raise TypeError(f"reference: float64 is given, expected no {', '.join(options)}")
        settings = (scale, empty_rows, "exact", "reference", None, None, None, layout, given["softcap"])
        return _core.reference64(q, k, v, _compile(mask), _compile_bias(bias), given["sinks"], return_lse, settings)
    options["backend"] = "reference"
    return attention(
        q, k, v, mask, scale=scale, bias=bias, layout=layout, return_lse=return_lse, **options
    )


def merge(out_a: Any, lse_a: Any, out_b: Any, lse_b: Any, *, layout: Layout = "bhtd") -> tuple[Any, Any]:
    """(out, lse) of attention over the keys of both sides, from the results over each.

    out_a, out_b: float32 [B, Hq, Tq, Dv], in the order of `layout`; lse_a, lse_b: float32
    [B, Hq, Tq]. A side with lse -inf has no keys. Sinks belong to one side only. Within 16 * 2^-24
    of the exact value, not to the last bit: for the bits of a single run over all keys see the
    carry of Plan.run.
    """
    return _core.merge(out_a, lse_a, out_b, lse_b, layout)


def info() -> dict[str, Any]:
    """What this build has and this machine is.

    version, arithmetic_version (equal numbers: equal bits), target (the instruction set that is
    used), targets (each with name, supported, exact, lanes, configs), threads, compiler, openmp.
    """
    return _core.info()


def _compile(mask: Any) -> _core.Mask | None:
    if mask is None:
        return None
    return (mask if isinstance(mask, Mask) else dense(mask)).compile()


def _compile_bias(bias: Any) -> _core.Bias | None:
    if bias is None:
        return None
    return (bias if isinstance(bias, _bias.Bias) else _bias.dense(bias)).compile()


def _origins(key_origin: Any) -> Any:
    return numpy.asarray(key_origin) if isinstance(key_origin, (list, tuple)) else key_origin


def _dtype_name(dtype: Any) -> str:
    """ "float32" for "float32", "f32", numpy.float32, numpy.dtype("f4"), torch.float32, ..."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    name = name or getattr(dtype, "__name__", None) or str(dtype).rpartition(".")[2]
    short = {"f32": "float32", "f16": "float16", "half": "float16", "bf16": "bfloat16"}
    return short.get(name, name)

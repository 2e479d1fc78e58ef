"""Masks: which keys a query row attends. True means attend.

Every function here makes a term, a predicate over (b, h, i, j): batch entry, query head, query and
key position. `&` and `|` join terms and `~` turns them round, nested 200 deep at most. A mask keeps
the arrays given to it, without a copy; they are read, and checked against the sizes, where a plan
is made (skipattn.plan or skipattn.attention).

One thing depends on how a mask is written: where its rows' 128-key chunks begin, and so the last
bits of a result. That is the first key that any row attends, with the causal, window and
prefix_causal terms that are joined by `&` at the top left out and all that is under `|` or `~`
taken as it is. With key_origin all forms have the same bits.

Arrays may be anything with DLPack or the buffer protocol, at any strides; lists and tuples are
turned into numpy arrays. Lengths, ids and offsets are int32 or int64, valid and dense are bool.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy

from . import _core

__all__ = [
    "Mask",
    "blocks",
    "causal",
    "dense",
    "documents",
    "from_spec",
    "function",
    "key_lengths",
    "key_range",
    "key_valid",
    "padding",
    "prefix_causal",
    "query_lengths",
    "query_range",
    "query_valid",
    "window",
]

Align = Literal["top_left", "bottom_right"]


class Mask:
    """A predicate over (b, h, i, j); made by the functions of skipattn.mask. Immutable."""

    __slots__ = ("_args", "_term")
    __array_ufunc__ = None  # numpy leaves `array & mask` alone

    def __init__(self, term: str, args: tuple[Any, ...]) -> None:
        """For skipattn.mask itself."""
        self._term = term
        self._args = args

    def __and__(self, other: Mask) -> Mask:
        """Allowed where both are."""
        if not isinstance(other, Mask):
            return NotImplemented
        return Mask("and_", (*self._parts("and_"), *other._parts("and_")))

    def __or__(self, other: Mask) -> Mask:
        """Allowed where at least one is."""
        if not isinstance(other, Mask):
            return NotImplemented
        return Mask("or_", (*self._parts("or_"), *other._parts("or_")))

    def __invert__(self) -> Mask:
        """Allowed where this one is not; ~~m is m."""
        inner: Mask = self._args[0] if self._term == "not_" else Mask("not_", (self,))
        return inner

    def _parts(self, join: str) -> tuple[Any, ...]:
        """What this mask joins, so that a & b & c is one list however many there are."""
        return self._args if self._term == join else (self,)

    def __bool__(self) -> bool:
        raise TypeError("a mask is neither true nor false; use &, | and ~, not and, or and not")

    def __repr__(self) -> str:
        if self._term in _SIGNS:
            parts = [f"({part!r})" if part._term in ("and_", "or_") else repr(part) for part in self._args]
            return f"~{parts[0]}" if self._term == "not_" else _SIGNS[self._term].join(parts)
        shown = ", ".join(_show(arg) for arg in self._args if arg is not None)
        return f"{self._term}({shown})"

    def to_spec(self) -> tuple[str, list[int], list[Any]]:
        """The mask as plain text, and the ints and arrays that it names by number; see from_spec.

        torch.compile can trace it, and ints that change from call to call stay out of the text.
        Raises TypeError where there is a function: a function is neither.
        """
        ints: list[int] = []
        arrays: list[Any] = []
        return _to_json(self, ints, arrays), ints, arrays

    def compile(self) -> _core.Mask:
        """The mask as the library takes it, for one plan.

        Not kept: it borrows memory that an array may give up later (torch's resize_).
        """
        args = [arg.compile() if isinstance(arg, Mask) else arg for arg in self._args]
        term = getattr(_core.Mask, self._term)
        compiled: _core.Mask = functools.reduce(term, args) if self._term in ("and_", "or_") else term(*args)
        return compiled


def from_spec(spec: str, ints: Sequence[int], arrays: Sequence[Any]) -> Mask:
    """The mask that to_spec has written, of these ints and arrays.

    Raises ValueError where spec is not what to_spec writes.
    """
    try:
        return _from_tree(json.loads(spec), ints, arrays)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"spec is {spec!r}, expected what Mask.to_spec gives") from error


def key_lengths(lengths: Any) -> Mask:
    """j < lengths[b]. lengths: [B] ints from 0 to Tk."""
    return Mask("key_lengths", (_array("key_lengths", lengths),))


def key_range(begin: Any, end: Any) -> Mask:
    """begin[b] <= j < end[b]. [B] ints from 0 to Tk each; begin > end allows nothing."""
    return Mask("key_range", (_array("begin", begin), _array("end", end)))


def key_valid(valid: Any) -> Mask:
    """valid[b, j]. valid: [B, Tk] bool, with holes if need be."""
    return Mask("key_valid", (_array("key_valid", valid),))


def query_lengths(lengths: Any) -> Mask:
    """i < lengths[b]: a row beyond it attends nothing. lengths: [B] ints from 0 to Tq."""
    return Mask("query_lengths", (_array("query_lengths", lengths),))


def query_range(begin: Any, end: Any) -> Mask:
    """begin[b] <= i < end[b]: other rows attend nothing. [B] ints from 0 to Tq each."""
    return Mask("query_range", (_array("begin", begin), _array("end", end)))


def query_valid(valid: Any) -> Mask:
    """valid[b, i]: other rows attend nothing. valid: [B, Tq] bool."""
    return Mask("query_valid", (_array("query_valid", valid),))


def padding(valid: Any) -> Mask:
    """valid[b, i] and valid[b, j], for self-attention (Tq = Tk). valid: [B, T] bool."""
    return Mask("padding", (_array("padding", valid),))


def causal(align: Align | None = None, *, offset: Any = None) -> Mask:
    """j <= i + offset.

    align: "top_left" (offset 0) or "bottom_right" (offset Tk - Tq: the last query stands at the
    last key, as in decoding with a cache). offset: an int, or [B] ints, of any sign. Where Tq and
    Tk differ one of the two must be given: there is no silent default.
    """
    return Mask("causal", _diagonal("causal", align, offset))


def window(left: int, right: int, align: Align | None = None, *, offset: Any = None) -> Mask:
    """i + offset - left <= j <= i + offset + right, both ends included; -1 = no limit.

    align, offset: as for causal.
    """
    sides = (_integer("window: left", left), _integer("window: right", right))
    return Mask("window", sides + _diagonal("window", align, offset))


def prefix_causal(prefix: Any, align: Align | None = None, *, offset: Any = None) -> Mask:
    """j < prefix[b] or j <= i + offset: a prefix that all rows see, causal after it.

    prefix: [B] ints from 0 to Tk. align, offset: as for causal.
    """
    diagonal = _diagonal("prefix_causal", align, offset)
    return Mask("prefix_causal", (_array("prefix_causal", prefix), *diagonal))


def documents(
    q_ids: Any = None, k_ids: Any = None, *, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None
) -> Mask:
    """Query and key in the same document (packed sequences).

    q_ids, k_ids: [B, Tq] and [B, Tk] ints, an id per token; a negative id is in no document. Or
    cu_seqlens_q, cu_seqlens_k: boundaries, rising from 0 to Tq and to Tk; document n holds
    positions cu_seqlens[n] to cu_seqlens[n + 1] - 1; for B = 1. What is given for queries alone
    holds for keys as well.
    """
    ids, boundaries = (q_ids, k_ids), (cu_seqlens_q, cu_seqlens_k)
    if (q_ids is None) == (cu_seqlens_q is None) or (ids if q_ids is None else boundaries)[1] is not None:
        raise TypeError("documents takes q_ids (and k_ids), or cu_seqlens_q (and cu_seqlens_k)")
    if q_ids is not None:
        q = _array("q_ids", q_ids)
        return Mask("documents", (q, q if k_ids is None else _array("k_ids", k_ids)))
    q = _array("cu_seqlens_q", cu_seqlens_q)
    k = q if cu_seqlens_k is None else _array("cu_seqlens_k", cu_seqlens_k)
    return Mask("document_boundaries", (q, k))


def dense(values: Any, axes: str = "") -> Mask:
    """values[b, h, i, j] itself: bool, any strides; axes of size 1 broadcast.

    axes: which axes values has, a subset of "bhqk" in that order ("bk" key padding, "qk", "bqk",
    "hqk", ...; h counts query heads). Needed for rank < 4: it is never guessed from sizes.
    """
    if not isinstance(axes, str):
        raise TypeError(f"axes is of type {type(axes).__name__}, expected a string")
    return Mask("dense", (_array("mask", values), axes))


def blocks(values: Any, axes: str, block_q: int, block_k: int) -> Mask:
    """values[b, h, i // block_q, j // block_k].

    values, axes: as for dense, but the axes q and k count blocks: ceil(Tq / block_q) and
    ceil(Tk / block_k), or 1. axes "" is "bhqk".
    """
    if not isinstance(axes, str):
        raise TypeError(f"axes is of type {type(axes).__name__}, expected a string")
    sizes = (_integer("blocks: block_q", block_q), _integer("blocks: block_k", block_k))
    return Mask("blocks", (_array("blocks", values), axes, *sizes))


def function(f: Callable[[int, int, int, int], Any]) -> Mask:
    """f(b, h, i, j) is true; h counts query heads.

    Called while a plan is made, never while it runs, by the thread that plans (which takes the GIL
    for each call); for any pair any number of times and in any order, so it must give the same
    answer each time. It may be called for every pair of every head, so a term or an array is far
    cheaper. What it raises comes out of the call that plans. It cannot be a spec.
    """
    if not callable(f):
        raise TypeError(f"f is {_kind(f)}, expected a function of b, h, i and j")
    return Mask("function", (f,))


def _array(name: str, values: Any) -> Any:
    if isinstance(values, (list, tuple)):
        array = numpy.asarray(values)
        return array if array.size else array.astype(numpy.int64)
    if not hasattr(values, "__dlpack__"):
        try:
            memoryview(values)
        except TypeError:
            raise TypeError(f"{name} is {_kind(values)}, expected an array, a list or a tuple") from None
    return values


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _integer(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name} is of type {kind}, expected an integer") from None


def _diagonal(term: str, align: Any, offset: Any) -> tuple[Any, Any]:
    if align is not None and align not in ("top_left", "bottom_right"):
        raise ValueError(f"{term}: align is {align!r}, expected 'top_left' or 'bottom_right'")
    if offset is None or isinstance(offset, int):
        return align, offset
    if hasattr(offset, "__len__") and getattr(offset, "ndim", None) != 0:
        return align, _array(f"{term}: offset", offset)
    return align, _integer(f"{term}: offset", offset)


def _show(arg: Any) -> str:
    if isinstance(arg, (str, int)):
        return repr(arg)
    if callable(arg):
        return str(getattr(arg, "__qualname__", type(arg).__name__))
    dtype = str(getattr(arg, "dtype", type(arg).__name__)).rpartition(".")[2]
    return f"{dtype}{list(getattr(arg, 'shape', ()))}"


def _to_json(mask: Any, ints: list[int], arrays: list[Any]) -> str:
    # Not by json.dumps, which torch.compile cannot trace.
    if mask._term == "function":
        raise TypeError("the mask has a function, expected arrays and numbers: a function cannot be text, nor cross a "
                        "PyTorch operator; make it a dense mask")
    parts = [f'"{mask._term}"']
    for arg in mask._args:
        if isinstance(arg, Mask):
            parts.append(_to_json(arg, ints, arrays))
        elif arg is None:
            parts.append("null")
        elif isinstance(arg, str):
            parts.append('"' + arg.replace("\\", "\\\\").replace('"', '\\"') + '"')
        elif isinstance(arg, int):
            parts.append(f'{{"int":{len(ints)}}}')
            ints.append(arg)
        else:
            parts.append(f'{{"array":{len(arrays)}}}')
            arrays.append(arg)
    return f"[{','.join(parts)}]"


def _from_tree(tree: Any, ints: Sequence[int], arrays: Sequence[Any]) -> Mask:
    term, *args = tree
    if term not in _TERMS:
        raise ValueError(term)
    made: list[Any] = []
    for arg in args:
        if isinstance(arg, list):
            made.append(_from_tree(arg, ints, arrays))
        else:
            made.append(_argument(arg, ints, arrays))
    return Mask(term, tuple(made))


def _argument(arg: Any, ints: Sequence[int], arrays: Sequence[Any]) -> Any:
    """What of a spec's tree is no term of its own."""
    if isinstance(arg, dict):
        return ints[arg["int"]] if "int" in arg else arrays[arg["array"]]
    return arg


_SIGNS = {"and_": " & ", "or_": " | ", "not_": "~"}
_TERMS = frozenset(name for name in dir(_core.Mask) if not name.startswith("__")) - {"function"}

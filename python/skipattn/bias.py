"""Biases: a number that is added to each score, after the softcap and before the softmax.

A bias is a function of (b, h, i, j): batch entry, query head, query and key position. -inf masks the
pair, as a mask does; +inf makes the row NaN. A bias keeps the arrays given to it, without a copy;
they are read, and checked against the sizes, where a plan is made (skipattn.plan or
skipattn.attention). The values of a dense one are those of the runs: a plan takes from it where it
masks, by -inf, or by values up to -1e30 in a row that attends another key, and skips that.

Arrays are float32, anything with DLPack or the buffer protocol, at any strides; lists and tuples are
turned into numpy arrays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy

from . import _core
from .mask import Align, _argument, _array, _diagonal, _show, _to_json

__all__ = ["Bias", "alibi", "dense", "from_spec", "relative"]


class Bias:
    """A number for each (b, h, i, j); made by the functions of skipattn.bias. Immutable."""

    __slots__ = ("_args", "_term")

    def __init__(self, term: str, args: tuple[Any, ...]) -> None:
        """For skipattn.bias itself."""
        self._term = term
        self._args = args

    def __repr__(self) -> str:
        return f"{self._term}({', '.join(_show(arg) for arg in self._args if arg is not None)})"

    def to_spec(self) -> tuple[str, list[int], list[Any]]:
        """The bias as plain text, and the ints and arrays that it names by number; see from_spec."""
        ints: list[int] = []
        arrays: list[Any] = []
        return _to_json(self, ints, arrays), ints, arrays

    def compile(self) -> _core.Bias:
        """The bias as the library takes it, for one plan."""
        compiled: _core.Bias = getattr(_core.Bias, self._term)(*self._args)
        return compiled


def from_spec(spec: str, ints: Sequence[int], arrays: Sequence[Any]) -> Bias:
    """The bias that to_spec has written, of these ints and arrays.

    Raises ValueError where spec is not what to_spec writes.
    """
    try:
        tree = json.loads(spec)
        term, *args = tree
        if not isinstance(tree, list) or term not in _TERMS:
            raise ValueError(term)
        return Bias(term, tuple(_argument(arg, ints, arrays) for arg in args))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"spec is {spec!r}, expected what Bias.to_spec gives") from error


def dense(values: Any, axes: str = "") -> Bias:
    """values[b, h, i, j] itself: float32, any strides; axes of size 1 broadcast.

    axes: which axes values has, a subset of "bhqk" in that order ("bk", "qk", "hqk", ...; h counts
    query heads). Needed for rank < 4: it is never guessed from sizes.
    """
    if not isinstance(axes, str):
        raise TypeError(f"axes is of type {type(axes).__name__}, expected a string")
    return Bias("dense", (_floats("bias", values), axes))


def alibi(slopes: Any, align: Align | None = None, *, offset: Any = None) -> Bias:
    """-slopes[h] * |i + offset - j|: the farther, the less. Never held in memory.

    slopes: [Hq] float32. align, offset: as for skipattn.mask.causal.
    """
    return Bias("alibi", (_floats("slopes", slopes), *_diagonal("alibi", align, offset)))


def relative(table: Any, align: Align | None = None, *, offset: Any = None) -> Bias:
    """table[h, j - i - offset + R // 2], an index outside the table being its first or last. Never
    held in memory.

    table: [Hq, R] float32. align, offset: as for skipattn.mask.causal.
    """
    return Bias("relative", (_floats("table", table), *_diagonal("relative", align, offset)))


def _floats(name: str, values: Any) -> Any:
    return numpy.asarray(values, numpy.float32) if isinstance(values, (list, tuple)) else _array(name, values)


_TERMS = frozenset(name for name in dir(_core.Bias) if not name.startswith("__"))

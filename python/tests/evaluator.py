"""The operation and the mask terms in float64 numpy, from their definitions alone."""

import math
from typing import NamedTuple

import numpy as np

LOG2E = 1.4426950408889634


def allows(term, sizes, *args, **kwargs):
    """The pairs that a term allows, bool [B, H, Tq, Tk]; arguments as in skipattn.mask."""
    B, H, Tq, Tk = sizes
    b, _, i, j = np.ogrid[:B, :H, :Tq, :Tk]

    def each(values):
        return np.asarray(values).reshape(B, 1, 1, 1)

    def offset(align=None, *, offset=None):
        if offset is not None:
            return each(np.broadcast_to(offset, (B,)))
        return Tk - Tq if align == "bottom_right" else 0

    def ids(q_ids, k_ids):
        q, k = np.asarray(q_ids)[:, None, :, None], np.asarray(k_ids)[:, None, None, :]
        return (q == k) & (q >= 0)

    def spread(values, axes):
        values = np.asarray(values)
        shape = [values.shape[axes.index(a)] if a in axes else 1 for a in "bhqk"]
        return values.reshape(shape)

    def blocks(values, axes, block_q, block_k):
        full = spread(values, axes or "bhqk")
        full = full if full.shape[2] == 1 else np.repeat(full, block_q, axis=2)[:, :, :Tq]
        return full if full.shape[3] == 1 else np.repeat(full, block_k, axis=3)[..., :Tk]

    def number(position, boundaries):
        return np.searchsorted(np.asarray(boundaries), np.arange(position), side="right")[None]

    terms = {
        "key_lengths": lambda n: j < each(n),
        "query_lengths": lambda n: i < each(n),
        "key_range": lambda begin, end: (each(begin) <= j) & (j < each(end)),
        "query_range": lambda begin, end: (each(begin) <= i) & (i < each(end)),
        "key_valid": lambda valid: np.asarray(valid)[:, None, None, :],
        "query_valid": lambda valid: np.asarray(valid)[:, None, :, None],
        "padding": lambda valid: spread(valid, "bk") & spread(valid, "bq"),
        "causal": lambda *a, **k: j <= i + offset(*a, **k),
        "window": lambda left, right, *a, **k: (
            ((left == -1) | (i + offset(*a, **k) - left <= j))
            & ((right == -1) | (j <= i + offset(*a, **k) + right))
        ),
        "prefix_causal": lambda n, *a, **k: (j < each(n)) | (j <= i + offset(*a, **k)),
        "documents": ids,
        "boundaries": lambda q, k: ids(number(Tq, q), number(Tk, k)),
        "dense": lambda values, axes="bhqk": spread(values, axes),
        "blocks": blocks,
    }
    return np.broadcast_to(terms[term](*args, **kwargs), (B, H, Tq, Tk)) & (b >= 0)


def numbers(kind, sizes, *args, **kwargs):
    """The values of a bias, float64 [B, H, Tq, Tk]; arguments as in skipattn.bias."""
    B, H, Tq, Tk = sizes
    _, _, i, j = np.ogrid[:B, :H, :Tq, :Tk]

    def distance(align=None, *, offset=None):
        offset = (Tk - Tq if align == "bottom_right" else 0) if offset is None else offset
        return j - i - np.broadcast_to(offset, (B,)).reshape(B, 1, 1, 1)

    def alibi(slopes, *args, **kwargs):
        return -np.asarray(slopes, np.float32).reshape(1, H, 1, 1) * np.float32(np.abs(distance(*args, **kwargs)))

    def relative(table, *args, **kwargs):
        table = np.asarray(table, np.float32)
        at = np.clip(distance(*args, **kwargs) + table.shape[1] // 2, 0, table.shape[1] - 1)
        return table[np.arange(H).reshape(1, H, 1, 1), at]

    def dense(values, axes="bhqk"):
        values = np.asarray(values, np.float32)
        return values.reshape([values.shape[axes.index(a)] if a in axes else 1 for a in "bhqk"])

    kinds = {"alibi": alibi, "relative": relative, "dense": dense}
    return np.broadcast_to(kinds[kind](*args, **kwargs), sizes).astype(np.float64)


def attended(allowed, bias):
    """What is left of the allowed pairs where a bias masks: -inf, and values up to -1e30 beside others."""
    hard = allowed & ~(bias == -np.inf)
    beside = allowed & ~(bias <= np.float32(-1e30))
    return np.where(beside.any(axis=-1, keepdims=True), beside, hard)


def _to_float_range(x):
    with np.errstate(over="ignore"):
        return np.where(np.isinf(np.float32(x)), np.copysign(np.inf, x), x)


class Exact(NamedTuple):
    out: np.ndarray
    lse: np.ndarray
    bound: np.ndarray  # of a row: how far the exact arithmetic may be from out
    score: np.ndarray  # of a row: the largest finite sum of |q . k| and |bias|
    v: np.ndarray  # of a row: the largest finite |v| among its keys


def evaluate(q, k, v, allowed, scale=None, softcap=None, bias=None, sinks=None, empty_rows="zero"):
    """The operation in float64. bias: its values, [B, H, Tq, Tk]."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    B, H, Tq, D = q.shape
    group = H // k.shape[1]
    scale = 1 / math.sqrt(D) if scale is None else scale
    out = np.zeros((B, H, Tq, v.shape[3]))
    bound, largest, score = (np.zeros((B, H, Tq, 1)) for _ in range(3))
    most = float(np.finfo(np.float32).max)
    allowed = allowed if bias is None else attended(allowed, bias)
    lse = np.full((B, H, Tq), -np.inf)
    for b, h, i in np.ndindex(B, H, Tq):
        keys = np.flatnonzero(allowed[b, h, i])
        sink = -np.inf if sinks is None else float(sinks[h]) * LOG2E
        kh, vh = k[b, h // group, keys], v[b, h // group, keys]
        with np.errstate(invalid="ignore", over="ignore"):
            terms = kh * q[b, h, i] * scale
            scores = _to_float_range(terms.sum(axis=1))
            scores = (softcap * np.tanh(scores / softcap) if softcap else scores) * LOG2E
            added = np.zeros(len(keys)) if bias is None else bias[b, h, i, keys] * LOG2E
            added = np.where(np.isfinite(added), np.clip(added, -most, most), added)
            scores = _to_float_range(scores + added)
            top = scores.max(initial=-np.inf)  # NaN if any is
            if top == -np.inf:
                lse[b, h, i] = sink / LOG2E
                if sink == -np.inf and empty_rows == "nan":
                    out[b, h, i] = np.nan
                elif sink == -np.inf and empty_rows == "uniform" and v.shape[2] > 0:
                    vh = v[b, h // group]
                    out[b, h, i] = vh.mean(axis=0)
                    largest[b, h, i] = np.abs(vh[np.isfinite(vh)]).max(initial=0)
                    bound[b, h, i] = 2.0**-24 * (64 + 2 * 128 + len(vh) / 64) * largest[b, h, i]
                continue
            largest[b, h, i] = np.abs(vh[np.isfinite(vh)]).max(initial=0)
            sizes = np.abs(terms).sum(axis=1) * LOG2E + np.abs(added)
            size = score[b, h, i] = sizes[np.isfinite(sizes)].max(initial=0)
            n = len(keys)
            ulps = 64 + 2 * (D + 2) * size + 2 * min(n, 128) + n / 64
            bound[b, h, i] = 2.0**-24 * ulps * largest[b, h, i]
            if not top < np.inf:
                out[b, h, i] = lse[b, h, i] = np.nan
                continue
            top = max(top, sink)
            weights = np.exp2(scores - top)
            total = weights.sum() + np.exp2(sink - top)
            out[b, h, i] = (weights[:, None] / total * vh).sum(axis=0)
            lse[b, h, i] = (top + np.log2(total)) / LOG2E
    return Exact(out, lse, bound, score, largest)


def check(got_out, got_lse, q, k, v, allowed, scale=None, **scores):
    """Asserts that the values are those of the definition, within the exact arithmetic's bounds."""
    exact = evaluate(q, k, v, allowed, scale, **scores)
    compare("out", got_out, exact.out, exact.bound)
    compare("lse", got_lse, exact.lse, lse_bound(exact))


def lse_bound(exact, tolerance=1e-5):
    bound = tolerance * np.maximum(1, np.abs(np.where(np.isfinite(exact.lse), exact.lse, 0)))
    return np.where(exact.score[..., 0] >= 1e30, np.inf, bound)  # beside huge biases it says nothing


def compare(what, got, want, bound):
    """NaN equals NaN, infinities equal themselves."""
    got = np.asarray(got)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    with np.errstate(invalid="ignore", over="ignore"):  # the ends of the interval are rounded too
        least, most = np.float32(want - bound), np.float32(want + bound)
    wrong = ~(((least <= got) & (got <= most)) | (np.isnan(got) & np.isnan(want)))
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise AssertionError(f"{what}{list(map(int, at))} is {got[at]}, expected {want[at]}")


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)

"""skipattn.attention and skipattn.reference against float64, and against each other by bytes."""

import itertools

import numpy as np
import pytest
from evaluator import allows, check, normal

import skipattn as sa

# B, Hq, Hkv, Tq, Tk, D, Dv
SHAPES = [
    (1, 1, 1, 1, 1, 1, 1),
    (2, 4, 2, 16, 16, 8, 8),
    (1, 3, 1, 33, 130, 64, 5),
    (2, 2, 2, 7, 257, 17, 40),
    (1, 8, 2, 1, 129, 32, 32),
    (3, 1, 1, 65, 3, 5, 64),
]


def inputs(shape, seed=1):
    B, Hq, Hkv, Tq, Tk, D, Dv = shape
    return (
        normal(seed, B, Hq, Tq, D),
        normal(seed + 1, B, Hkv, Tk, D),
        normal(seed + 2, B, Hkv, Tk, Dv),
    )


def masks(sizes, seed):
    """Pairs of a mask and what it allows, of this size."""
    B, H, Tq, Tk = sizes
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, Tk + 1, B)
    holes = rng.random((B, Tk)) < 0.7
    dense = rng.random((B, 1, Tq, Tk)) < 0.3
    yield None, np.ones(sizes, bool)
    yield sa.mask.key_lengths(lengths), allows("key_lengths", sizes, lengths)
    yield sa.mask.causal("bottom_right"), allows("causal", sizes, "bottom_right")
    yield dense, allows("dense", sizes, dense)
    yield (
        sa.mask.key_valid(holes) & sa.mask.causal(offset=1),
        allows("key_valid", sizes, holes) & allows("causal", sizes, offset=1),
    )


@pytest.mark.filterwarnings("ignore:.*attend no key")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_bits(shape):
    q, k, v = inputs(shape)
    B, Hq, _, Tq, Tk, _, _ = shape
    for mask, allowed in masks((B, Hq, Tq, Tk), seed=sum(shape)):
        out, lse = sa.attention(q, k, v, mask, return_lse=True)
        check(out, lse, q, k, v, allowed)
        same = sa.reference(q, k, v, mask, return_lse=True)
        assert out.tobytes() == same[0].tobytes() and lse.tobytes() == same[1].tobytes()
        as_dense = np.ascontiguousarray(allowed)
        again = sa.attention(q, k, v, as_dense, key_origin=0, threads=1)
        assert again.tobytes() == sa.attention(q, k, v, mask, key_origin=0).tobytes()


def views(array):
    """The same array at other strides, by name. What lies between its elements is NaN."""
    B, H, T, D = array.shape
    wide = np.full((B, H, 2 * T, D + 3), np.nan, np.float32)
    wide[:, :, ::2, :D] = array
    backwards = np.ascontiguousarray(array[:, ::-1, ::-1])
    return {
        "bthd": np.ascontiguousarray(array.swapaxes(1, 2)).swapaxes(1, 2),
        "gaps": wide[:, :, ::2, :D],
        "negative": backwards[:, ::-1, ::-1],
        "batch inside": np.ascontiguousarray(array.transpose(2, 0, 1, 3)).transpose(1, 2, 0, 3),
    }


@pytest.mark.parametrize("names", list(itertools.product(["bthd", "gaps", "negative"], repeat=3)))
def test_strides_change_nothing(names):
    arrays = inputs((2, 4, 2, 9, 37, 8, 6))
    want = sa.attention(*arrays, sa.mask.causal("bottom_right"))
    strided = [views(array)[name] for array, name in zip(arrays, names, strict=True)]
    assert sa.attention(*strided, sa.mask.causal("bottom_right")).tobytes() == want.tobytes()
    out = views(np.zeros_like(want))[names[0]]
    assert sa.attention(*strided, sa.mask.causal("bottom_right"), out=out) is out
    assert np.ascontiguousarray(out).tobytes() == want.tobytes()


def test_layout_bthd():
    arrays = inputs((2, 4, 2, 9, 37, 8, 6))
    swapped = [np.ascontiguousarray(array.swapaxes(1, 2)) for array in arrays]
    want, want_lse = sa.attention(*arrays, return_lse=True)
    got, lse = sa.attention(*swapped, layout="bthd", return_lse=True)
    assert got.shape == (2, 9, 4, 6) and got.flags.c_contiguous
    assert np.ascontiguousarray(got.swapaxes(1, 2)).tobytes() == want.tobytes()
    assert lse.tobytes() == want_lse.tobytes()
    plan = sa.plan(*(array.shape for array in swapped), layout="bthd")
    assert plan.run(*swapped).tobytes() == got.tobytes()
    want64, lse64 = sa.reference(*arrays, float64=True, return_lse=True)
    got64 = sa.reference(*swapped, float64=True, layout="bthd")
    assert np.array_equal(got64.swapaxes(1, 2), want64) and lse64.shape == (2, 4, 9)


def test_packed_qkv_and_broadcast_keys():
    packed = normal(5, 2, 11, 3, 4, 8)  # [B, T, 3, H, D]
    q, k, v = (packed[:, :, n] for n in range(3))
    want = sa.attention(*(np.ascontiguousarray(x) for x in (q, k, v)), layout="bthd")
    assert sa.attention(q, k, v, layout="bthd").tobytes() == want.tobytes()
    one = normal(6, 2, 1, 11, 8)
    expanded = np.broadcast_to(one, (2, 4, 11, 8))
    q = normal(7, 2, 4, 11, 8)
    want = sa.attention(q, one, one)
    assert sa.attention(q, expanded, expanded).tobytes() == want.tobytes()


def test_scale_threads_configs_and_origin():
    q, k, v = inputs((2, 2, 2, 40, 200, 16, 16))
    mask = sa.mask.key_lengths([200, 77])
    allowed = allows("key_lengths", (2, 2, 40, 200), [200, 77])
    out, lse = sa.attention(q, k, v, mask, scale=0.5, return_lse=True)
    check(out, lse, q, k, v, allowed, scale=0.5)
    info = sa.info()
    best = next(t for t in info["targets"] if t["name"] == info["target"])
    for threads, config in itertools.product([None, 1, 2, 5], [None, *best["configs"]]):
        same = sa.attention(q, k, v, mask, scale=0.5, threads=threads, config=config)
        assert same.tobytes() == out.tobytes()
    assert sa.attention(q, k, v, mask, scale=0.5, key_origin=128).tobytes() == out.tobytes()
    moved = sa.attention(q, k, v, mask, key_origin=[3, 77])
    assert moved.tobytes() == sa.reference(q, k, v, mask, key_origin=np.array([3, 77])).tobytes()
    assert moved.tobytes() != sa.attention(q, k, v, mask).tobytes()


def test_float64_reference_is_the_evaluator():
    q, k, v = inputs((1, 4, 2, 5, 19, 6, 3))
    mask = sa.mask.window(4, 2, offset=3)
    out, lse = sa.reference(q, k, v, mask, float64=True, return_lse=True, scale=0.3)
    assert out.dtype == lse.dtype == np.float64
    check(out, lse, q, k, v, allows("window", (1, 4, 5, 19), 4, 2, offset=3), scale=0.3)
    with pytest.raises(TypeError, match="threads"):
        sa.reference(q, k, v, float64=True, threads=1)


def test_empty_rows():
    q, k, v = inputs((1, 2, 2, 6, 6, 4, 4))
    mask = sa.mask.query_lengths([4])
    out, lse = sa.attention(q, k, v, mask, return_lse=True)
    assert (out[:, :, 4:] == 0).all() and (lse[:, :, 4:] == -np.inf).all()
    kept = np.full_like(q, 7)
    sa.attention(q, k, v, mask, out=kept, empty_rows="keep")
    assert (kept[:, :, 4:] == 7).all() and (kept[:, :, :4] == out[:, :, :4]).all()
    with pytest.raises(ValueError, match="keep"):
        sa.attention(q, k, v, mask, empty_rows="keep")


@pytest.mark.parametrize("sizes", [(0, 2, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0)])
def test_sizes_of_zero(sizes):
    B, H, Tq, Tk = sizes
    q, k = np.ones((B, H, Tq, 5), np.float32), np.ones((B, H, Tk, 5), np.float32)
    out, lse = sa.attention(q, k, k, return_lse=True)
    assert out.shape == (B, H, Tq, 5) and not out.any()
    assert lse.shape == (B, H, Tq) and (lse == -np.inf).all()


def test_masked_memory_is_not_read():
    q, k, v = inputs((2, 2, 2, 10, 10, 4, 4))
    mask = sa.mask.key_lengths([10, 6]) & sa.mask.causal()
    want = sa.attention(q, k, v, mask)
    k[1, :, 6:], v[1, :, 6:] = np.nan, np.inf
    assert sa.attention(q, k, v, mask).tobytes() == want.tobytes()


# Every argument, wrong on purpose: the error names it.
WRONG = [
    (ValueError, "scale", dict(scale=float("nan"))),
    (TypeError, "scale", dict(scale="1")),
    (ValueError, "softcap is -1", dict(softcap=-1)),
    (TypeError, "softcap is of type str", dict(softcap="30")),
    (ValueError, r"sinks.*\[2\]", dict(sinks=np.zeros(7, np.float32))),
    (ValueError, "sinks: dtype", dict(sinks=np.zeros(2))),
    (ValueError, r"sinks\[1\] is nan", dict(sinks=np.array([0, np.nan], np.float32))),
    (TypeError, "sinks", dict(sinks=3)),
    (ValueError, "layout", dict(layout="btdh")),
    (TypeError, "layout", dict(layout=None)),
    (ValueError, "empty_rows.*uniform", dict(empty_rows="mean")),
    (ValueError, "precision", dict(precision="fast")),
    (ValueError, "backend", dict(backend="gpu")),
    (ValueError, "threads", dict(threads=-1)),
    (ValueError, "threads", dict(threads=2**40)),
    (ValueError, "threads", dict(threads=2**80)),
    (TypeError, "threads", dict(threads=1.5)),
    (ValueError, "key_origin", dict(key_origin=[1, 2, 3])),
    (TypeError, "key_origin", dict(key_origin="a")),
    (ValueError, "config", dict(config="nonesuch")),
    (TypeError, "config", dict(config=3)),
    (TypeError, "out", dict(out=3)),
    (ValueError, "out: shape", dict(out=np.zeros((1, 2, 3, 5), np.float32))),
    (ValueError, "out: dtype", dict(out=np.zeros((1, 2, 3, 4)))),
    (ValueError, "out: rank", dict(out=np.zeros((1, 2, 3), np.float32))),
    (TypeError, "mask", dict(mask=3)),
    (TypeError, "mask", dict(mask="causal")),
]


@pytest.mark.parametrize("kind, words, arguments", WRONG, ids=lambda x: str(x)[:40])
def test_wrong_arguments(kind, words, arguments):
    q, k, v = inputs((1, 2, 2, 3, 3, 4, 4))
    out = np.full_like(q, 7)
    with pytest.raises(kind, match=words):
        sa.attention(q, k, v, **{"out": out, **arguments})
    assert (out == 7).all()


def test_out_may_not_overlap():
    q, k, v = inputs((1, 2, 2, 3, 3, 4, 4))
    with pytest.raises(ValueError, match="memory of"):
        sa.attention(q, k, v, out=q)
    with pytest.raises(ValueError, match="apart"):
        one_row = np.zeros(4, np.float32)
        sa.attention(q, k, v, out=np.lib.stride_tricks.as_strided(one_row, q.shape, (0, 0, 0, 4)))

"""skipattn.mask: what each term allows, by its fingerprint; text and back; the traps."""

import warnings

import numpy as np
import pytest
from evaluator import allows, normal

import skipattn as sa

SIZES = B, H, TQ, TK = 2, 2, 7, 11
RNG = np.random.default_rng(3)
BOOLS = RNG.random((B, H, TQ, TK)) < 0.5


def attended(mask, sizes=SIZES):
    """Which pairs a mask allows: with q = 0 and v_j = 2^j, the mean of v spells the keys."""
    B, H, Tq, Tk = sizes
    q, k = np.zeros((B, H, Tq, 4), np.float32), normal(1, B, H, Tk, 4)
    v = np.broadcast_to(2.0 ** np.arange(Tk, dtype=np.float32)[:, None], (B, H, Tk, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        out, lse = sa.attention(q, k, v, mask, return_lse=True)
    with np.errstate(invalid="ignore"):
        words = np.rint(np.where(lse == -np.inf, 0, out[..., 0] * np.exp(lse))).astype(np.int64)
    return (words[..., None] >> np.arange(Tk)) & 1 == 1


TERMS = [
    ("key_lengths", ([11, 4],), {}),
    ("key_lengths", ((0, 5),), {}),
    ("query_lengths", (np.array([7, 2], np.int32),), {}),
    ("key_range", ([2, 0], [9, 11]), {}),
    ("key_range", ([5, 3], [4, 8]), {}),
    ("query_range", ([1, 3], [7, 4]), {}),
    ("key_valid", (BOOLS[:, 0, 0],), {}),
    ("key_valid", (BOOLS[:, 0, 0].tolist(),), {}),
    ("query_valid", (BOOLS[:, 0, :, 0],), {}),
    ("causal", ("top_left",), {}),
    ("causal", ("bottom_right",), {}),
    ("causal", (), dict(offset=-3)),
    ("causal", (), dict(offset=np.int64(2))),
    ("causal", (), dict(offset=[-1, 6])),
    ("window", (2, 1, "bottom_right"), {}),
    ("window", (-1, 0, "top_left"), {}),
    ("window", (3, -1), dict(offset=np.array([0, 4]))),
    ("documents", (RNG.integers(-1, 3, (B, TQ)), RNG.integers(-1, 3, (B, TK))), {}),
    ("dense", (BOOLS,), {}),
    ("dense", (BOOLS[:, :, ::-1, ::-1],), {}),
    ("dense", (BOOLS[:, 0, 0], "bk"), {}),
    ("dense", (BOOLS[0, 0], "qk"), {}),
    ("dense", (BOOLS[0], "hqk"), {}),
    ("dense", (BOOLS[:, :1, :1],), {}),
    ("dense", (np.broadcast_to(BOOLS[:, :, :1], BOOLS.shape),), {}),
    ("dense", (np.asfortranarray(BOOLS),), {}),
]


@pytest.mark.parametrize("term, args, kwargs", TERMS, ids=lambda x: x if isinstance(x, str) else "")
def test_terms(term, args, kwargs):
    mask = getattr(sa.mask, term)(*args, **kwargs)
    want = allows(term, SIZES, *args, **kwargs)
    assert np.array_equal(attended(mask), want)
    assert repr(mask).startswith(term)
    again = sa.mask.from_spec(*mask.to_spec())
    assert repr(again) == repr(mask) and np.array_equal(attended(again), want)


def test_padding_and_boundaries():
    valid = BOOLS[:, 0, 0, :7]
    sizes = (B, H, 7, 7)
    assert np.array_equal(attended(sa.mask.padding(valid), sizes), allows("padding", sizes, valid))
    sizes, q, k = (1, 1, TQ, TK), [0, 3, 3, 7], [0, 2, 8, 11]
    mask = sa.mask.documents(cu_seqlens_q=q, cu_seqlens_k=k)
    assert np.array_equal(attended(mask, sizes), allows("boundaries", sizes, q, k))
    sizes, ids = (1, 1, 4, 4), [[0, 0, 1, -1]]
    want = allows("documents", sizes, ids, ids)
    assert np.array_equal(attended(sa.mask.documents(ids), sizes), want)
    want = allows("boundaries", sizes, [0, 1, 4], [0, 1, 4])
    assert np.array_equal(attended(sa.mask.documents(cu_seqlens_q=[0, 1, 4]), sizes), want)


def test_and():
    parts = [
        (sa.mask.key_lengths([9, 11]), allows("key_lengths", SIZES, [9, 11])),
        (sa.mask.causal(offset=4), allows("causal", SIZES, offset=4)),
        (sa.mask.dense(BOOLS), BOOLS),
    ]
    mask = parts[0][0] & parts[1][0] & parts[2][0]
    want = parts[0][1] & parts[1][1] & parts[2][1]
    assert np.array_equal(attended(mask), want)
    assert repr(mask) == "key_lengths(int64[2]) & causal(4) & dense(bool[2, 2, 7, 11], '')"
    spec, ints, arrays = mask.to_spec()
    assert ints == [4] and len(arrays) == 2 and arrays[1] is BOOLS
    assert np.array_equal(attended(sa.mask.from_spec(spec, ints, arrays)), want)


def test_a_mask_keeps_its_arrays_and_reads_them_anew():
    lengths = np.array([11, 11])
    mask = sa.mask.key_lengths(lengths)
    assert attended(mask).all()
    lengths[1] = 3
    del lengths
    assert np.array_equal(attended(mask), allows("key_lengths", SIZES, [11, 3]))


@pytest.mark.parametrize("spec", ["", "{}", "[]", '["nonesuch"]', '["key_lengths",{"array":3}]',
                                  '["causal",null,{"int":0}]', "[[]]"])
def test_wrong_spec(spec):
    with pytest.raises(ValueError, match="spec"):
        sa.mask.from_spec(spec, [], [])


def run(mask, sizes=SIZES):
    attended_by = np.zeros((*sizes[:3], 4), np.float32)
    k = np.zeros((*sizes[:2], sizes[3], 4), np.float32)
    return sa.attention(attended_by, k, k, mask)


# The traps of masks: each error holds its fix.
TRAPS = [
    ("axes.*bk", lambda: run(sa.mask.dense(BOOLS[0, 0]))),
    ("axes.*bk", lambda: run(BOOLS[0, 0])),
    ("axes", lambda: run(sa.mask.dense(BOOLS[0, 0], "kq"))),
    ("axis 'q'.*size 11", lambda: run(sa.mask.dense(BOOLS.swapaxes(2, 3)))),
    ("mask != 0", lambda: run(BOOLS.astype(np.int32))),
    ("mask != 0", lambda: run(BOOLS.astype(np.uint8))),
    ("mask != 0", lambda: run(BOOLS.astype(np.float32))),
    ("bool", lambda: run(sa.mask.key_valid([[1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]] * 2))),
    ("top_left.*bottom_right.*4", lambda: run(sa.mask.causal())),
    ("top_left.*bottom_right.*4", lambda: run(sa.mask.window(1, 0))),
    ("both", lambda: run(sa.mask.causal("top_left", offset=1))),
    ("align.*bottom", lambda: sa.mask.causal("bottom")),
    ("left", lambda: run(sa.mask.window(-2, 0, "top_left"))),
    ("self-attention", lambda: run(sa.mask.padding(BOOLS[:, 0, 0]))),
    (r"key_lengths\[1\] is 12", lambda: run(sa.mask.key_lengths([11, 12]))),
    ("key_lengths.*int32 or int64", lambda: run(sa.mask.key_lengths(np.array([1, 2], np.int16)))),
    ("key_lengths", lambda: run(sa.mask.key_lengths([1, 2, 3]))),
    ("offset.*int32 or int64", lambda: run(sa.mask.causal(offset=[0.5, 1]))),
    ("B is 2", lambda: run(sa.mask.documents(cu_seqlens_q=[0, 7], cu_seqlens_k=[0, 11]))),
    ("scalar", lambda: run(sa.mask.dense(np.array(True), "q"))),
]


@pytest.mark.parametrize("words, make", TRAPS, ids=lambda x: x if isinstance(x, str) else "")
def test_traps(words, make):
    with pytest.raises(ValueError, match=words):
        make()


WRONG_OBJECTS = [
    ("key_lengths is None", lambda: sa.mask.key_lengths(None)),
    ("key_valid is of type str", lambda: sa.mask.key_valid("yes")),
    ("mask is of type dict", lambda: sa.mask.dense({})),
    ("axes is of type int", lambda: sa.mask.dense(BOOLS, 3)),
    ("left is of type float", lambda: sa.mask.window(1.0, 0)),
    ("offset is of type float", lambda: sa.mask.causal(offset=1.5)),
    ("documents takes", lambda: sa.mask.documents()),
    ("documents takes", lambda: sa.mask.documents([[0]], cu_seqlens_k=[0, 1])),
    ("documents takes", lambda: sa.mask.documents(k_ids=[[0]], cu_seqlens_q=[0, 1])),
    ("not with and", lambda: sa.mask.causal() and sa.mask.causal()),
    ("unsupported operand", lambda: sa.mask.causal() & 3),
]


@pytest.mark.parametrize("words, make", WRONG_OBJECTS, ids=lambda x: x if isinstance(x, str) else "")
def test_wrong_objects(words, make):
    with pytest.raises(TypeError, match=words):
        make()


def test_a_mask_that_looks_upside_down_warns():
    valid = np.ones((B, TK), bool)
    valid[1, 5:] = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(sa.mask.key_valid(valid))
        run(sa.mask.query_lengths([1, 0]) & sa.mask.key_valid(valid))  # empty on purpose
        run(sa.mask.key_lengths([0, 0]))
    padding = ~valid
    padding[1] = False
    for wrong in (sa.mask.key_valid(padding), padding[:, None, None, :]):
        with pytest.warns(UserWarning, match="28 of 28 .*~mask") as warned:
            run(wrong)
        assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="~mask") as warned:
        sa.plan((B, H, TQ, 4), (B, H, TK, 4), (B, H, TK, 4), mask=sa.mask.key_valid(padding))
    assert warned[0].filename == __file__

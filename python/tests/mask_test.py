"""skipattn.mask: what each term allows, by its fingerprint; text and back; the traps."""

import sys
import warnings
import weakref

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
    ("prefix_causal", ([5, 0], "top_left"), {}),
    ("prefix_causal", ((11, 2),), dict(offset=-3)),
    ("prefix_causal", (np.array([1, 4], np.int32),), dict(offset=[-1, 6])),
    ("documents", (RNG.integers(-1, 3, (B, TQ)), RNG.integers(-1, 3, (B, TK))), {}),
    ("dense", (BOOLS,), {}),
    ("dense", (BOOLS[:, :, ::-1, ::-1],), {}),
    ("dense", (BOOLS[:, 0, 0], "bk"), {}),
    ("dense", (BOOLS[0, 0], "qk"), {}),
    ("dense", (BOOLS[0], "hqk"), {}),
    ("dense", (BOOLS[:, :1, :1],), {}),
    ("dense", (np.broadcast_to(BOOLS[:, :, :1], BOOLS.shape),), {}),
    ("dense", (np.asfortranarray(BOOLS),), {}),
    ("blocks", (BOOLS[:, :, :2, :3], "", 4, 5), {}),
    ("blocks", (BOOLS[0, 0, ::4, ::-3], "qk", np.int64(4), 3), {}),
    ("blocks", (BOOLS[0, 0, :1, :2], "qk", 64, 8), {}),
    ("blocks", (BOOLS[:, 0, 0, :1], "bk", 1, 99), {}),
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


# Parts, and what they allow.
LENGTHS = (sa.mask.key_lengths([9, 4]), allows("key_lengths", SIZES, [9, 4]))
CAUSAL = (sa.mask.causal(offset=2), allows("causal", SIZES, offset=2))
DENSE = (sa.mask.dense(BOOLS), BOOLS)
JOINED = [
    (lambda a, b, c: a | b | c, "{} | {} | {}"),
    (lambda a, b, c: a | (b | c), "{} | {} | {}"),
    (lambda a, b, c: (a & b) | c, "({} & {}) | {}"),
    (lambda a, b, c: a & (b | c), "{} & ({} | {})"),
    (lambda a, b, c: ~a & b | ~c, "(~{} & {}) | ~{}"),
    (lambda a, b, c: ~(a & b) & c, "~({} & {}) & {}"),
    (lambda a, b, c: ~(~(a | b) | c), "~(~({} | {}) | {})"),
    (lambda a, b, c: ~~a & ~~(b & c), "{} & {} & {}"),
]


@pytest.mark.parametrize("join, text", JOINED, ids=lambda x: x if isinstance(x, str) else "")
def test_or_and_not(join, text):
    masks, allowed = zip(LENGTHS, CAUSAL, DENSE)
    mask, want = join(*masks), join(*allowed)
    assert repr(mask) == text.format(*map(repr, masks))
    assert np.array_equal(attended(mask), want)
    spec, ints, arrays = mask.to_spec()
    assert ints == [2] and arrays[-1] is BOOLS
    again = sa.mask.from_spec(spec, ints, arrays)
    assert repr(again) == repr(mask) and np.array_equal(attended(again), want)


def test_many_parts_are_one_list():
    """A mask that is joined in a loop, longer than Python recurses and nested as deep as may be."""
    mask, want = sa.mask.key_lengths([0, 0]), np.zeros(SIZES, bool)
    for n in range(3000):
        i, j = n % TQ, n * n % TK
        if n % 30 == 0:
            mask |= sa.mask.causal(offset=-99) & sa.mask.key_lengths([j, j])
        mask |= sa.mask.key_range([j, j], [j + 1, j]) & sa.mask.query_range([i, i], [i + 1, i + 1])
        want[0, :, i, j] = True
    assert np.array_equal(attended(mask), want)
    for _ in range(210):
        mask = ~(mask & sa.mask.key_lengths([TK, TK]))
    with pytest.raises(ValueError, match="mask is nested too deep.*200 levels"):
        attended(mask)


def test_function():
    seen = set()

    def f(b, h, i, j):
        assert all(type(at) is int for at in (b, h, i, j))
        seen.add((b, h, i, j))
        return BOOLS[b, h, i, j]  # a numpy.bool

    mask = sa.mask.function(f)
    assert repr(mask) == "function(test_function.<locals>.f)"
    assert np.array_equal(attended(mask), BOOLS) and seen == set(np.ndindex(*SIZES))
    assert np.array_equal(attended(~mask & CAUSAL[0]), ~BOOLS & CAUSAL[1])
    assert attended(sa.mask.function(lambda *at: at)).all()  # any truth will do

    shapes = [(B, H, n, 4) for n in (TQ, TK, TK)]
    plan = sa.plan(*shapes, mask=mask)
    seen.clear()
    q, k, v = (normal(n, *shape) for n, shape in enumerate(shapes))
    out = plan.run(q, k, v)
    assert not seen, "called while running"
    for backend in ("auto", "reference"):
        assert sa.attention(q, k, v, mask, backend=backend).tobytes() == out.tobytes()
    exact = sa.reference(q, k, v, mask, float64=True)
    assert np.allclose(out, exact, atol=1e-6)


def test_a_function_goes_with_its_masks():
    class Callable:
        def __call__(self, b, h, i, j):
            return j <= i

    f = Callable()
    gone, references = weakref.ref(f), sys.getrefcount(f)
    mask = sa.mask.function(f)
    plan = sa.plan((1, 1, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4), mask=mask | ~mask)
    assert "Callable" in repr(mask)
    del mask
    assert sys.getrefcount(f) == references
    del f
    assert gone() is None and plan.stats.live_pairs == 9


class Unlike(Exception):
    pass


@pytest.mark.parametrize("error", [Unlike("this"), KeyboardInterrupt(), MemoryError("no")], ids=repr)
@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_what_a_function_raises_comes_out(error, backend):
    def f(b, h, i, j):
        if (i, j) == (2, 3):
            raise error
        return True

    x = np.zeros((1, 1, 5, 4), np.float32)
    for mask in (sa.mask.function(f), sa.mask.key_lengths([1]) | ~sa.mask.function(f)):
        for call in (
            lambda mask=mask: sa.attention(x, x, x, mask, backend=backend),
            lambda mask=mask: sa.plan(x.shape, x.shape, x.shape, mask=mask, backend=backend),
            lambda mask=mask: sa.reference(x, x, x, mask, float64=True),
        ):
            with pytest.raises(type(error)) as raised:
                call()
            assert raised.value is error and raised.traceback[-1].name == "f"


def test_what_a_function_must_not_give():
    for wrong, error, words in (
        (lambda *at: None, TypeError, "function: it gave None, expected True or False"),
        (lambda *at: np.zeros(2), ValueError, "truth value of an array"),
        (lambda: True, TypeError, "positional argument"),
    ):
        with pytest.raises(error, match=words):
            run(sa.mask.function(wrong))
    for mask in (sa.mask.function(len), sa.mask.causal() | ~sa.mask.function(len)):
        with pytest.raises(TypeError, match="has a function.*dense"):
            mask.to_spec()


def test_a_mask_keeps_its_arrays_and_reads_them_anew():
    lengths = np.array([11, 11])
    mask = sa.mask.key_lengths(lengths)
    assert attended(mask).all()
    lengths[1] = 3
    del lengths
    assert np.array_equal(attended(mask), allows("key_lengths", SIZES, [11, 3]))


@pytest.mark.parametrize("spec", ["", "{}", "[]", '["nonesuch"]', '["key_lengths",{"array":3}]',
                                  '["causal",null,{"int":0}]', "[[]]", '["function",null]'])
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
    (r"prefix_causal: prefix\[1\] is 12.*0 to 11", lambda: run(sa.mask.prefix_causal([11, 12], "top_left"))),
    ("prefix_causal.*top_left.*bottom_right.*4", lambda: run(sa.mask.prefix_causal([1, 2]))),
    ("prefix_causal.*int32 or int64", lambda: run(sa.mask.prefix_causal([0.5, 1], "top_left"))),
    ("prefix_causal: align.*bottom", lambda: sa.mask.prefix_causal([1, 2], "bottom")),
    ("blocks: block_k is 0", lambda: run(sa.mask.blocks(BOOLS[0, 0, :1, :1], "qk", 1, 0))),
    ("blocks: axis 'k'.*size 4.*3 or 1", lambda: run(sa.mask.blocks(BOOLS[0, 0, :1, :4], "qk", 64, 4))),
    ("blocks: axes", lambda: run(sa.mask.blocks(BOOLS[0, 0, :1, :1], "", 1, 1))),
    ("blocks.*mask != 0", lambda: run(sa.mask.blocks([[0, 1]], "qk", 64, 64))),
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
    ("not and, or and not", lambda: sa.mask.causal() and sa.mask.causal()),
    ("unsupported operand", lambda: sa.mask.causal() & 3),
    ("unsupported operand", lambda: sa.mask.causal() | 3),
    ("f is of type int, expected a function", lambda: sa.mask.function(3)),
    ("f is None", lambda: sa.mask.function(None)),
    ("blocks is None", lambda: sa.mask.blocks(None, "qk", 1, 1)),
    ("axes is of type int", lambda: sa.mask.blocks(BOOLS, 3, 1, 1)),
    ("blocks: block_q is of type float", lambda: sa.mask.blocks(BOOLS, "bhqk", 1.0, 1)),
    ("prefix_causal is of type int", lambda: sa.mask.prefix_causal(3)),
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
    upside_down = padding[:, None, None, :]
    for wrong in (
        sa.mask.key_valid(padding), upside_down, ~sa.mask.key_valid(~padding),
        sa.mask.dense(upside_down) | sa.mask.key_lengths([0, 0]), sa.mask.blocks(upside_down, "bhqk", 99, 1),
    ):  # fmt: skip
        with pytest.warns(UserWarning, match="28 of 28 .*~mask") as warned:
            run(wrong)
        assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="~mask") as warned:
        sa.plan((B, H, TQ, 4), (B, H, TK, 4), (B, H, TK, 4), mask=sa.mask.key_valid(padding))
    assert warned[0].filename == __file__

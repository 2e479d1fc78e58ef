"""skipattn.plan: shapes and types, what a plan tells, and its runs."""

import numpy as np
import pytest
from evaluator import allows, check, normal

import skipattn as sa

SHAPES = (2, 4, 8, 16), (2, 2, 12, 16), (2, 2, 12, 6)


def arrays(seed=1):
    return [normal(seed + n, *shape) for n, shape in enumerate(SHAPES)]


def test_a_plan_runs_what_attention_computes():
    mask = sa.mask.key_lengths([12, 5]) & sa.mask.causal("bottom_right")
    plan = sa.plan(*SHAPES, mask=mask)
    assert isinstance(plan, sa.Plan)
    for seed in (1, 10):
        q, k, v = arrays(seed)
        want, want_lse = sa.attention(q, k, v, mask, return_lse=True)
        out, lse = plan.run(q, k, v, return_lse=True, threads=1)
        assert out.tobytes() == want.tobytes() and lse.tobytes() == want_lse.tobytes()
        assert plan.run(q, k, v, out) is out
        assert plan.run(q=q, k=k, v=v, out=out, bias=None, sinks=None) is out


def test_scores_and_empty_rows():
    mask = sa.mask.query_lengths([8, 3]) & sa.mask.causal("bottom_right")
    sinks = np.array([0.5, -2, -np.inf, 1], np.float32)
    for options in (dict(softcap=0.7), dict(sinks=sinks), dict(empty_rows="uniform"), dict(empty_rows="nan"),
                    dict(softcap=2, sinks=sinks, empty_rows="nan")):  # fmt: skip
        q, k, v = arrays()
        allowed = allows("causal", (2, 4, 8, 12), "bottom_right") & allows("query_lengths", (2, 4, 8, 12), [8, 3])
        want, want_lse = sa.attention(q, k, v, mask, return_lse=True, **options)
        check(want, want_lse, q, k, v, allowed, **options)
        plan = sa.plan(*SHAPES, mask=mask, **(options | dict(sinks="sinks" in options)))
        out, lse = plan.run(q, k, v, sinks=options.get("sinks"), return_lse=True)
        assert out.tobytes() == want.tobytes() and lse.tobytes() == want_lse.tobytes()
        assert sa.reference(q, k, v, mask, **options).tobytes() == want.tobytes()
        exact, exact_lse = sa.reference(q, k, v, mask, float64=True, return_lse=True, **options)
        assert np.allclose(out, exact, atol=1e-6, equal_nan=True) and np.allclose(lse, exact_lse, atol=1e-6)
    with pytest.raises(TypeError, match="sinks is of type ndarray.*runs bring"):
        sa.plan(*SHAPES, sinks=sinks)
    with pytest.raises(ValueError, match="sinks is not given"):
        sa.plan(*SHAPES, sinks=True).run(q, k, v)


def test_a_plan_owns_its_mask():
    lengths = np.array([12, 5])
    plan = sa.plan(*SHAPES, np.float32, sa.mask.key_lengths(lengths))
    want = plan.run(*arrays())
    lengths[:] = 0
    del lengths
    assert plan.run(*arrays()).tobytes() == want.tobytes()


def test_stats():
    plan = sa.plan(*SHAPES, mask=sa.mask.key_lengths([12, 5]) & sa.mask.query_lengths([8, 3]))
    stats = plan.stats
    assert stats.live_pairs == 4 * (8 * 12 + 3 * 5)
    assert stats.dense_pairs == 2 * 4 * 8 * 12
    assert stats.empty_rows == 4 * 5
    assert stats.tiles > 0 and stats.target == sa.info()["target"] and stats.config
    assert stats.full_blocks + stats.partial_blocks > 0 and stats.skipped_blocks >= 0
    assert repr(stats).startswith(f"PlanStats(live_pairs={stats.live_pairs}, ")
    assert sa.plan(*SHAPES, backend="reference").stats.target == "reference"
    with pytest.raises(AttributeError):
        stats.tiles = 3


def test_describe():
    plan = sa.plan(*SHAPES, mask=sa.mask.causal("top_left"))
    assert "queries 8, keys 12" in plan.describe() and "\n  #" in plan.describe()
    assert repr(plan) == "<skipattn.Plan B=2 Hq=4 Hkv=2 Tq=8 Tk=12 D=16 Dv=6>"


@pytest.mark.parametrize("dtype", ["float32", "f32", np.float32, np.dtype("float32"), np.dtype("<f4")])
def test_dtypes(dtype):
    assert sa.plan(*SHAPES, dtype).run(*arrays()).dtype == np.float32


@pytest.mark.parametrize(
    "kind, words, given",
    [
        (ValueError, "dtype", (*SHAPES, np.float64)),
        (ValueError, "dtype", (*SHAPES, "int8")),
        (ValueError, "dtype", (*SHAPES, 3)),
        (ValueError, "q_shape: rank is 3", ((2, 8, 16), *SHAPES[1:])),
        (ValueError, "q_shape: rank is 5", ((1, 2, 4, 8, 16), *SHAPES[1:])),
        (TypeError, "k_shape", (SHAPES[0], None, SHAPES[2])),
        (TypeError, "k_shape", (SHAPES[0], (2, 2, 12.0, 16), SHAPES[2])),
        (TypeError, "k_shape", (SHAPES[0], "2222", SHAPES[2])),
        (ValueError, "k_shape: dim is 15", (SHAPES[0], (2, 2, 12, 15), SHAPES[2])),
        (ValueError, "k_shape: batch", (SHAPES[0], (1, 2, 12, 16), SHAPES[2])),
        (ValueError, "v_shape: length", (*SHAPES[:2], (2, 2, 11, 6))),
        (ValueError, "v_shape: heads", (*SHAPES[:2], (2, 1, 12, 6))),
        (ValueError, "kv_heads is 3", (SHAPES[0], (2, 3, 12, 16), (2, 3, 12, 6))),
        (ValueError, "-1", ((-1, 4, 8, 16), (-1, 2, 12, 16), (-1, 2, 12, 6))),
        (ValueError, "62", ((2**61, 4, 8, 16), (2**61, 2, 12, 16), (2**61, 2, 12, 6))),
        (ValueError, "64 bits", ((2**70, 4, 8, 16), *SHAPES[1:])),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_wrong_shapes(kind, words, given):
    with pytest.raises(kind, match=words):
        sa.plan(*given)


def test_wrong_runs():
    plan = sa.plan(*SHAPES)
    q, k, v = arrays()
    out = np.full((2, 4, 8, 6), 7, np.float32)
    for words, args, kwargs in [
        ("q: shape", (q[:1], k, v), {}),
        ("v: shape", (q, k, k), {}),
        ("k: dtype", (q, k.astype(np.int32), v), {}),
        ("threads", (q, k, v), dict(threads=-3)),
        ("bias is given, expected none", (q, k, v), dict(bias=q)),
        ("sinks is given.*problem has none", (q, k, v), dict(sinks=np.zeros(4, np.float32))),
    ]:
        with pytest.raises(ValueError, match=words):
            plan.run(*args, out=out, **kwargs)
    with pytest.raises(TypeError, match="k is None"):
        plan.run(q, None, v, out)
    assert (out == 7).all()


def test_plans_are_made_by_plan_alone():
    with pytest.raises(TypeError):
        sa.Plan()

"""skipattn.bias, what a plan takes from one, carry and merge."""

import numpy as np
import pytest
from evaluator import allows, check, compare, evaluate, lse_bound, normal, numbers

import skipattn as sa

SIZES = B, H, TQ, TK = 2, 4, 9, 37
SLOPES = np.array([0.5, 0.25, 1, 2], np.float32)
TABLE = normal(7, H, 12)
KINDS = {
    "alibi": [
        ((SLOPES, "top_left"), {}),
        ((SLOPES, "bottom_right"), {}),
        (([0.5, 0.25, 1, 2],), dict(offset=3)),
        ((SLOPES,), dict(offset=[-4, 2**20])),
    ],
    "relative": [
        ((TABLE, "top_left"), {}),
        ((TABLE, "bottom_right"), {}),
        ((TABLE[:, :1],), dict(offset=np.int64(5))),
        ((TABLE[:, ::-1],), dict(offset=np.array([-4, 30], np.int32))),
    ],
    "dense": [
        ((normal(1, B, H, TQ, TK),), {}),
        ((normal(2, 1, H, 1, TK), "bhqk"), {}),
        ((normal(3, TQ, TK), "qk"), {}),
        ((np.asfortranarray(normal(4, H, TQ, TK)), "hqk"), {}),
        ((np.broadcast_to(normal(5, B, 1), (B, TK)), "bk"), {}),
    ],
}
CASES = [(kind, args, kwargs) for kind, all_of in KINDS.items() for args, kwargs in all_of]


def arrays(seed=11, k_len=TK):
    return normal(seed, B, H, TQ, 16), normal(seed + 1, B, 2, k_len, 16), normal(seed + 2, B, 2, k_len, 6)


def same(got, want):
    assert [x.tobytes() for x in got] == [x.tobytes() for x in want]


@pytest.mark.parametrize("kind, args, kwargs", CASES, ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("softcap", [None, 0.9])
def test_values_and_bits(kind, args, kwargs, softcap):
    q, k, v = arrays()
    bias = getattr(sa.bias, kind)(*args, **kwargs)
    values = numbers(kind, SIZES, *args, **kwargs)
    for mask, allowed in [
        (None, np.ones(SIZES, bool)),
        (sa.mask.key_lengths([37, 11]), allows("key_lengths", SIZES, [37, 11])),
    ]:
        options = dict(softcap=softcap, bias=bias)
        got = sa.attention(q, k, v, mask, return_lse=True, **options)
        check(*got, q, k, v, allowed, softcap=softcap, bias=values)
        same(sa.reference(q, k, v, mask, return_lse=True, **options), got)
        same(sa.attention(q, k, v, mask, softcap=softcap, bias=values.astype(np.float32), return_lse=True), got)
        exact = evaluate(q, k, v, allowed, softcap=softcap, bias=values)
        out, lse = sa.reference(q, k, v, mask, float64=True, return_lse=True, **options)
        assert np.allclose(out, exact.out, rtol=1e-12, atol=1e-12)
        assert np.allclose(lse, exact.lse, rtol=1e-12, atol=1e-12)
        plan = sa.plan(q.shape, k.shape, v.shape, mask=mask, **options)
        assert plan.stats.needs_bias == (kind == "dense")
        same(plan.run(q, k, v, bias=bias if kind == "dense" else None, return_lse=True), got)
        again = sa.plan(q.shape, k.shape, v.shape, mask=mask, softcap=softcap, bias=True)
        same(again.run(q, k, v, bias=values.astype(np.float32), return_lse=True), got)


def test_layout_bthd_changes_the_tensors_alone():
    q, k, v = arrays()
    bias = normal(3, B, H, TQ, TK)
    swapped = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v)]
    out, lse = sa.attention(*swapped, bias=bias, layout="bthd", return_lse=True)
    same((np.ascontiguousarray(out.swapaxes(1, 2)), lse), sa.attention(q, k, v, bias=bias, return_lse=True))


@pytest.mark.parametrize("low", [-np.inf, np.finfo(np.float32).min, -1e30])
def test_what_only_masks_is_skipped_and_need_not_be_given(low):
    q, k, v = arrays()
    allowed = allows("key_lengths", SIZES, [30, 5]) & allows("causal", SIZES, offset=3)
    additive = np.where(allowed, np.float32(0), np.float32(low))
    want = sa.attention(q, k, v, allowed, return_lse=True)
    k[1, :, 13:], v[1, :, 13:] = np.nan, np.inf  # beyond 5 keys, and what any row sees
    same(sa.attention(q, k, v, bias=additive, return_lse=True), want)
    plan = sa.plan(q.shape, k.shape, v.shape, bias=additive)
    assert plan.stats.live_pairs == allowed.sum() and not plan.stats.needs_bias
    same(plan.run(q, k, v, return_lse=True), want)
    same(plan.run(q, k, v, bias=additive, return_lse=True), want)


def test_large_finite_values_mask_nothing():
    q, k, v = arrays()
    allowed = allows("key_lengths", SIZES, [30, 5])
    plan = sa.plan(q.shape, k.shape, v.shape, bias=np.where(allowed, np.float32(0), np.float32(-1e9)))
    assert plan.stats.live_pairs == plan.stats.dense_pairs and plan.stats.needs_bias


def test_a_run_may_bring_other_values_than_the_plan():
    q, k, v = arrays()
    one, other = normal(1, B, H, TQ, TK), normal(2, B, H, TQ, TK)
    plan = sa.plan(q.shape, k.shape, v.shape, bias=one)
    for bias in (one, other, sa.bias.dense(other[0, 0], "qk")):
        same(plan.run(q, k, v, bias=bias, return_lse=True), sa.attention(q, k, v, bias=bias, return_lse=True))


def test_carry_has_the_bits_of_one_run():
    q, k, v = arrays(k_len=300)
    lengths, bias = [300, 140], normal(1, B, H, TQ, 300)
    sinks = np.array([0.5, -2, -np.inf, 1], np.float32)
    for layout in ("bhtd", "bthd"):
        q_, k_, v_ = (x if layout == "bhtd" else np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v))
        at = 2 if layout == "bhtd" else 1
        options = dict(layout=layout, key_origin=7)
        want = sa.attention(q_, k_, v_, sa.mask.key_lengths(lengths), bias=bias, sinks=sinks, return_lse=True,
                            **options)  # fmt: skip
        carry = None
        for begin, end in [(0, 7), (7, 135), (135, 135), (135, 300)]:  # 7 + 128 n
            part = [np.ascontiguousarray(np.take(x, range(begin, end), axis=at)) for x in (k_, v_)]
            last = end == 300
            plan = sa.plan(
                q_.shape, part[0].shape, part[1].shape, mask=sa.mask.key_lengths(np.clip(lengths, begin, end) - begin),
                bias=True, sinks=last, layout=layout, key_origin=7 - begin,
            )  # fmt: skip
            carry = plan.run(
                q_, *part, bias=bias[..., begin:end], sinks=sinks if last else None, carry=carry, return_lse=last,
                return_carry=not last,
            )  # fmt: skip
            if not last:
                assert [x.shape for x in carry] == [(B, H, TQ), (B, H, TQ), want[0].shape]
        same(carry, want)


def test_merge():
    q, k, v = arrays(k_len=50)
    whole = sa.attention(q, k, v, sa.mask.key_lengths([50, 20]), return_lse=True)
    a = sa.attention(q, k[:, :, :20], v[:, :, :20], return_lse=True)
    b = sa.attention(q, k[:, :, 20:], v[:, :, 20:], sa.mask.key_lengths([30, 0]), return_lse=True)
    out, lse = sa.merge(*a, *b)
    exact = evaluate(q, k, v, allows("key_lengths", (B, H, TQ, 50), [50, 20]))
    compare("out", out, exact.out, exact.bound)
    compare("lse", lse, exact.lse, lse_bound(exact))
    assert np.abs(out - whole[0]).max() < 1e-6
    same((out[1], lse[1]), (a[0][1], a[1][1]))  # nothing was joined
    swapped = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in (a[0], b[0])]
    again, lse_again = sa.merge(swapped[0], a[1], swapped[1], b[1], layout="bthd")
    same((np.ascontiguousarray(again.swapaxes(1, 2)), lse_again), (out, lse))


def test_specs():
    for kind, args, kwargs in CASES:
        bias = getattr(sa.bias, kind)(*args, **kwargs)
        spec, ints, kept = bias.to_spec()
        back = sa.bias.from_spec(spec, ints, kept)
        q, k, v = arrays()
        same(sa.attention(q, k, v, bias=back, return_lse=True), sa.attention(q, k, v, bias=bias, return_lse=True))
    for spec in ("", "3", "[]", '["mask",{"array":0}]', '["dense",{"array":9},""]', '{"dense":1}'):
        with pytest.raises(ValueError, match="expected what Bias.to_spec gives"):
            sa.bias.from_spec(spec, [], [TABLE])


def test_repr():
    assert repr(sa.bias.alibi(SLOPES, "top_left")) == "alibi(float32[4], 'top_left')"
    assert repr(sa.bias.dense(TABLE, "hk")) == "dense(float32[4, 12], 'hk')"


ONE = np.zeros((B, H, TQ, TK), np.float32)


@pytest.mark.parametrize(
    "kind, words, make",
    [
        (ValueError, "bias: axes", lambda: sa.bias.dense(ONE[0, 0])),
        (ValueError, "bias: axes", lambda: sa.bias.dense(ONE[0, 0], "kq")),
        (ValueError, "bias: axis", lambda: sa.bias.dense(ONE[0, 0, :, :-1], "qk")),
        (ValueError, "bias is bool, expected .*a bool array is a mask", lambda: sa.bias.dense(ONE == 0)),
        (ValueError, "bias: dtype is float64", lambda: ONE.astype(float)),
        (TypeError, "axes is of type int", lambda: sa.bias.dense(ONE, 4)),
        (TypeError, "bias is of type int", lambda: 3),
        (TypeError, "slopes is None", lambda: sa.bias.alibi(None)),
        (ValueError, "alibi: .*(top_left|align)", lambda: sa.bias.alibi(SLOPES)),
        (ValueError, "alibi: align is 'left'", lambda: sa.bias.alibi(SLOPES, "left")),
        (ValueError, "alibi: slopes", lambda: sa.bias.alibi(SLOPES[:3], "top_left")),
        (ValueError, "alibi: .*offset", lambda: sa.bias.alibi(SLOPES, offset=[1, 2, 3])),
        (ValueError, "relative: table", lambda: sa.bias.relative(TABLE[:, :0], "top_left")),
        (ValueError, "relative: table", lambda: sa.bias.relative(SLOPES, "top_left")),
        (TypeError, "offset", lambda: sa.bias.relative(TABLE, offset=1.5)),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_wrong_biases(kind, words, make):
    q, k, v = arrays()
    out = np.full((B, H, TQ, 6), 7, np.float32)
    with pytest.raises(kind, match=words):
        sa.attention(q, k, v, bias=make(), out=out)
    assert (out == 7).all()


def test_wrong_runs():
    q, k, v = arrays()
    out = np.full((B, H, TQ, 6), 7, np.float32)
    plan = sa.plan(q.shape, k.shape, v.shape, bias=True)
    carry = sa.plan(q.shape, k.shape, v.shape).run(q, k, v, return_carry=True)
    for kind, words, options in [
        (ValueError, "bias is not given", {}),
        (TypeError, "bias is of type .*Bias.*belong to the plan", dict(bias=sa.bias.alibi(SLOPES, offset=0))),
        (ValueError, "bias: axis 'k' is of size 5", dict(bias=ONE[..., :5])),
        (TypeError, "carry is of type list", dict(bias=ONE, carry=[1, 2, 3])),
        (TypeError, "carry is of type tuple", dict(bias=ONE, carry=carry[:2])),
        (ValueError, "carry: out: rank", dict(bias=ONE, carry=(carry[0], carry[1], carry[1]))),
        (ValueError, "carry_in.max: rank", dict(bias=ONE, carry=(carry[2], carry[1], carry[2]))),
        (ValueError, "return_carry is True", dict(bias=ONE, return_carry=True)),
    ]:
        with pytest.raises(kind, match=words):
            plan.run(q, k, v, out, **options)
    with pytest.raises(ValueError, match="return_carry is True"):
        plan.run(q, k, v, bias=ONE, return_lse=True, return_carry=True)
    assert (out == 7).all()


@pytest.mark.parametrize("n", range(4))
def test_wrong_merges(n):
    a = sa.attention(*arrays(), return_lse=True)
    for kind, wrong in [(TypeError, None), (ValueError, a[n % 2][..., :0]), (ValueError, a[n % 2].astype(float))]:
        given = [*a, *a]
        given[n] = wrong
        with pytest.raises(kind, match=("out_a|out_b", "lse_a", "out_b", "lse_b")[n]):
            sa.merge(*given)
    with pytest.raises(ValueError, match="layout"):
        sa.merge(*a, *a, layout="htbd")

"""The operators skipattn::attention and attention_out: opcheck, compile, export, out=, errors."""

import threading

import pytest

torch = pytest.importorskip("torch")

from torch_checks import assert_close, bound, math64  # noqa: E402

import skipattn as sa  # noqa: E402
import skipattn.torch as st  # noqa: E402
from skipattn.torch import _operator  # noqa: E402


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(11)
    _operator.plans.clear()  # equal masks of other tests would be found


def inputs(layout="bhtd", heads=4, kv_heads=2, v_dim=10):
    tensors = torch.randn(2, heads, 9, 8), torch.randn(2, kv_heads, 13, 8), torch.randn(2, kv_heads, 13, v_dim)
    return tuple(t if layout == "bhtd" else t.transpose(1, 2).contiguous() for t in tensors)


def masks():
    """A mask of each kind of argument: none, numbers alone, an array, several joined, a tree."""
    valid = torch.rand(2, 13) < .6
    lengths = torch.tensor([9, 4])
    return [(None, torch.ones(2, 1, 9, 13, dtype=torch.bool)),
            (sa.mask.causal(align="bottom_right"), torch.ones(9, 13, dtype=torch.bool).tril(4)[None, None]),
            (sa.mask.key_valid(valid), valid[:, None, None].expand(2, 1, 9, 13)),
            (sa.mask.key_valid(valid) & sa.mask.window(3, 1, align="top_left") & sa.mask.query_lengths(lengths),
             valid[:, None, None] & torch.ones(9, 13, dtype=torch.bool).tril(1).triu(-3)
             & (torch.arange(9)[:, None] < lengths[:, None, None, None])),
            (sa.mask.prefix_causal(lengths, "top_left") | ~(sa.mask.key_valid(valid) & sa.mask.window(1, 2, offset=0)),
             (torch.arange(13) < lengths[:, None, None, None]) | torch.ones(9, 13, dtype=torch.bool).tril(0)
             | ~(valid[:, None, None] & torch.ones(9, 13, dtype=torch.bool).tril(2).triu(-1)))]


def biases():
    """A bias of each kind: none, floats, floats that only mask, two of numbers."""
    lengths = torch.tensor([[[[9]]], [[[4]]]])
    return [None, torch.randn(1, 4, 9, 13), torch.where(torch.arange(13) < lengths, 0., -torch.inf),
            sa.bias.alibi(torch.tensor([.5, .25, 1, 2]), "bottom_right"), sa.bias.relative(torch.randn(4, 7), offset=2)]


def arguments_of(mask, bias=None):
    return (*_operator.mask_arguments(mask), *_operator.bias_arguments(bias))


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
def test_against_float64(number, layout):
    mask, allowed = masks()[number]
    q, k, v = inputs(layout)
    out, lse = st.attention(q, k, v, mask, layout=layout, return_lse=True)
    assert out.is_contiguous() and lse.is_contiguous()
    if layout == "bthd":
        q, k, v, out = (t.transpose(1, 2) for t in (q, k, v, out))
    assert_close(out, math64(q, k, v, allowed, enable_gqa=True), bound(q, k, v))
    scores = (q.double() @ k.double().repeat_interleave(2, 1).mT / 8**.5).masked_fill(~allowed, -torch.inf)
    torch.testing.assert_close(lse.double(), scores.logsumexp(-1), atol=1e-5, rtol=1e-5)


def test_equals_the_package():
    q, k, v = inputs()
    for mask, _ in masks():
        for bias in biases():
            for scores in ({}, {"softcap": 2.5, "sinks": torch.randn(4)}):
                scores["bias"] = bias
                expected, lse = sa.attention(q, k, v, mask, return_lse=True, **scores)
                ours, our_lse = st.attention(q, k, v, mask, return_lse=True, **scores)
                assert torch.equal(ours, expected) and torch.equal(our_lse, lse)
                assert torch.equal(st.attention(q, k, v, mask, threads=1, backend="reference", **scores), expected)


def test_out():
    q, k, v = inputs()
    expected, lse = st.attention(q, k, v, return_lse=True)
    out = torch.full((2, 4, 9, 16), 7.0)[..., :10]
    assert st.attention(q, k, v, out=out) is out
    assert torch.equal(out, expected)
    again, again_lse = st.attention(q, k, v, out=out, return_lse=True)
    assert again is out and torch.equal(again_lse, lse)


def test_a_mask_that_looks_upside_down():
    q, k, v = inputs()
    allowed = torch.zeros(2, 1, 9, 13, dtype=torch.bool)
    with pytest.warns(UserWarning, match="true must mean attend") as warned:
        st.attention(q, k, v, allowed)
    assert warned[0].filename == __file__


def test_threads_are_those_of_torch():
    q, k, v = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 4096, 8), torch.randn(1, 1, 4096, 8)
    before, threads = _operator.plans.made, torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = st.attention(q, k, v)
        assert torch.equal(st.attention(q, k, v, threads=1), expected)
        assert _operator.plans.made == before + 1
        assert torch.equal(st.attention(q, k, v, threads=2), expected)
        assert _operator.plans.made == before + 2
    finally:
        torch.set_num_threads(threads)


def test_empty_rows():
    q, k, v = inputs()
    mask = sa.mask.query_lengths(torch.tensor([9, 4]))
    out = torch.full((2, 4, 9, 10), 7.0)
    st.attention(q, k, v, mask, out=out, empty_rows="keep")
    assert bool((out[1, :, 4:] == 7).all())
    out, lse = st.attention(q, k, v, mask, return_lse=True)
    assert not out[1, :, 4:].any() and bool((lse[1, :, 4:] == -torch.inf).all())


def test_a_mask_of_rank_4_as_it_is():
    q, k, v = inputs()
    allowed = torch.rand(2, 1, 9, 13) < .5
    assert_close(st.attention(q, k, v, allowed), math64(q, k, v, allowed, enable_gqa=True), bound(q, k, v))


# --------------------------------------------------------------------------- as an operator of PyTorch


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
def test_opcheck(number, layout):
    q, k, v = inputs(layout)
    arguments = arguments_of(masks()[number][0], biases()[number])
    for options in ({}, {"softcap": 3., "sinks": torch.randn(4)},
                    {"scale": .3, "return_lse": True, "layout": layout, "threads": 1}):
        if layout == "bthd" and "layout" not in options:
            continue
        torch.library.opcheck(torch.ops.skipattn.attention.default, (q, k, v, *arguments), options)


def test_opcheck_of_the_writing_one():
    q, k, v = inputs()
    arguments = arguments_of(masks()[3][0])
    out = torch.empty(2, 4, 9, 10)
    for options in ({"out": out}, {"out": out, "return_lse": True}):
        torch.library.opcheck(torch.ops.skipattn.attention_out.default, (q, k, v, *arguments), options)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(backend):
    q, k, v = inputs()
    valid = torch.rand(2, 13) < .6

    def f(q, k, v, valid):
        mask = sa.mask.key_valid(valid) & sa.mask.causal(align="bottom_right")
        out, lse = st.attention(q * 2, k, v, mask, scale=.3, return_lse=True)
        return out.transpose(1, 2) + 1, lse

    expected = f(q, k, v, valid)
    compiled = torch.compile(f, fullgraph=True, backend=backend)
    for ours, theirs in zip(compiled(q, k, v, valid), expected):
        assert torch.equal(ours, theirs)
    valid[:, 3] ^= True  # a mask is an argument, not a constant
    for ours, theirs in zip(compiled(q, k, v, valid), f(q, k, v, valid)):
        assert torch.equal(ours, theirs)


def test_compile_with_biases():
    q, k, v = inputs()
    sinks = torch.randn(4)

    def f(q, k, v, bias, sinks):
        return st.attention(q, k, v, sa.mask.causal("bottom_right"), bias=bias, softcap=2.5, sinks=sinks)

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    for bias in biases():
        assert torch.equal(compiled(q, k, v, bias, sinks), f(q, k, v, bias, sinks))


def test_compile_with_trees():
    q, k, v = inputs()
    valid = torch.rand(2, 13) < .6
    ignored = ~sa.mask.key_valid(valid)  # PyTorch 2.13 does not trace ~ of an object

    def f(q, k, v, mask):
        return st.attention(q, k, v, mask | sa.mask.causal("top_left") & ignored)

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    for flipped in (0, 3):
        valid[:, flipped] ^= True
        for mask in (ignored, sa.mask.window(2, 1, "top_left")):
            assert torch.equal(compiled(q, k, v, mask), f(q, k, v, mask))


def test_compile_with_out():
    q, k, v = inputs()

    def f(q, k, v):
        out = torch.empty(2, 4, 9, 10)
        st.attention(q, k, v, out=out)
        return out * 2

    assert torch.equal(torch.compile(f, fullgraph=True, backend="aot_eager")(q, k, v), st.attention(q, k, v) * 2)


def test_compile_with_sizes_that_change():
    def f(q, k, v):
        return st.attention(q, k, v, sa.mask.causal(align="bottom_right"))

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=True)
    for q_len, k_len in ((9, 13), (5, 17), (1, 30)):
        q, k, v = torch.randn(2, 4, q_len, 8), torch.randn(2, 2, k_len, 8), torch.randn(2, 2, k_len, 10)
        assert torch.equal(compiled(q, k, v), f(q, k, v))


def test_decoding_steps_do_not_compile_anew():
    from torch._dynamo.testing import CompileCounter

    def step(q, k, v, offset):
        return st.attention(q, k, v, sa.mask.causal(offset=offset))

    counter = CompileCounter()
    compiled = torch.compile(step, fullgraph=True, backend=counter)
    for offset in (3, 5, 8, 12):
        q, k, v = torch.randn(2, 4, 1, 8), torch.randn(2, 2, 13, 8), torch.randn(2, 2, 13, 10)
        assert torch.equal(compiled(q, k, v, offset), step(q, k, v, offset))
    assert counter.frame_count <= 2  # once for a number, once for any


class Attends(torch.nn.Module):
    def forward(self, q, k, v, valid):
        return st.attention(q, k, v, sa.mask.key_valid(valid))


def test_export():
    q, k, v = inputs()
    valid = torch.rand(2, 13) < .6
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(Attends(), (q, k, v, valid), dynamic_shapes=({0: batch},) * 4)
    assert torch.equal(program.module()(q, k, v, valid), Attends()(q, k, v, valid))
    more = tuple(t.repeat(3, *([1] * (t.dim() - 1))) for t in (q, k, v, valid))
    assert torch.equal(program.module()(*more), Attends()(*more))
    assert any("skipattn" in str(node.target) for node in program.graph.nodes)


def test_meta():
    q, k, v = (t.to("meta") for t in inputs())
    out, lse = st.attention(q, k, v, return_lse=True)
    assert out.shape == (2, 4, 9, 10) and lse.shape == (2, 4, 9) and out.device.type == "meta"


def test_inference_mode_and_threads():
    q, k, v = inputs()
    expected = st.attention(q, k, v, sa.mask.causal(align="top_left"))
    equal = []

    def work():
        with torch.inference_mode():
            for _ in range(20):
                equal.append(torch.equal(st.attention(q, k, v, sa.mask.causal(align="top_left")), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(equal) == 80 and all(equal)


def test_plans_are_kept():
    q, k, v = inputs()
    valid = torch.rand(2, 13) < .6
    st.attention(q, k, v, sa.mask.key_valid(valid))
    before = _operator.plans.made
    for _ in range(3):
        st.attention(q + 1, k, v, sa.mask.key_valid(valid.clone()))
    assert _operator.plans.made == before
    valid.numpy()[0, 0] ^= True
    st.attention(q, k, v, sa.mask.key_valid(valid))
    assert _operator.plans.made == before + 1


def test_plans_know_where_a_bias_masks_and_runs_bring_its_values():
    q, k, v = inputs()
    bias = torch.randn(2, 1, 9, 13)
    st.attention(q, k, v, bias=bias)
    before = _operator.plans.made
    assert torch.equal(st.attention(q, k, v, bias=bias.clone()), sa.attention(q, k, v, bias=bias))
    assert _operator.plans.made == before
    bias.numpy()[:, :, :, 5:] = -torch.inf
    assert torch.equal(st.attention(q, k, v, bias=bias), sa.attention(q, k, v, bias=bias))
    assert _operator.plans.made == before + 1
    large = torch.where(torch.randn(1, 1, 600, 600) < 0, -torch.inf, 0)  # more than is kept
    q = k = v = torch.randn(1, 1, 600, 8)
    assert torch.equal(st.attention(q, k, v, bias=large, key_origin=0), sa.attention(q, k, v, large == 0, key_origin=0))


# ---------------------------------------------------------------------------------------------- errors


def test_gradients_are_an_error():
    q, k, v = inputs()
    for position in range(3):
        arguments = [q, k, v]
        arguments[position] = arguments[position].clone().requires_grad_()
        with pytest.raises(RuntimeError, match="requires grad"):
            st.attention(*arguments)
        with pytest.raises(RuntimeError, match="requires grad"):
            torch.ops.skipattn.attention(*arguments, *arguments_of(None))
        with torch.no_grad():
            assert not st.attention(*arguments).requires_grad
    for name, tensor in (("bias", torch.zeros(2, 1, 9, 13)), ("sinks", torch.zeros(4))):
        with pytest.raises(RuntimeError, match=f"{name} requires grad"):
            st.attention(q, k, v, **{name: tensor.requires_grad_()})


@pytest.mark.parametrize("change,error,words", [
    (dict(q=torch.zeros(2, 4, 9, 8, dtype=torch.float64)), ValueError, ["dtype", "float64"]),
    (dict(q=torch.zeros(2, 4, 9, 7)), ValueError, ["q"]),
    (dict(k=torch.zeros(2, 3, 13, 8)), ValueError, ["heads"]),
    (dict(k=torch.zeros(2, 2, 13)), ValueError, ["k"]),
    (dict(k=torch.zeros(2, 2, 13, 16)[..., ::2]), ValueError, ["k", "stride"]),
    (dict(q=[[1.0]]), TypeError, ["q", "list"]),
    (dict(mask=torch.zeros(13, dtype=torch.bool)), ValueError, ["mask", "axes"]),
    (dict(mask=torch.zeros(2, 1, 9, 13, dtype=torch.int64)), (TypeError, ValueError), ["mask"]),
    (dict(mask=torch.zeros(2, 1, 9, 12, dtype=torch.bool)), ValueError, ["12"]),
    (dict(mask=~sa.mask.function(lambda *at: True)), TypeError, ["function", "dense mask"]),
    (dict(mask="causal"), TypeError, ["mask", "str"]),
    (dict(bias=torch.zeros(9, 13)), ValueError, ["bias", "axes"]),
    (dict(bias=torch.zeros(2, 1, 9, 13) == 0), ValueError, ["bias", "bool"]),
    (dict(bias=3), TypeError, ["bias", "int"]),
    (dict(sinks=torch.zeros(3)), ValueError, ["sinks"]),
    (dict(sinks=[1.0] * 4), TypeError, ["sinks"]),
    (dict(softcap=-1.0), ValueError, ["softcap"]),
    (dict(layout="thd"), ValueError, ["layout", "thd"]),
    (dict(empty_rows="drop"), ValueError, ["empty_rows", "drop"]),
    (dict(out=torch.zeros(2, 4, 9, 8)), ValueError, ["out"]),
    (dict(out=[1.0]), TypeError, ["out"]),
    (dict(threads=-1), ValueError, ["threads"]),
    (dict(scale=float("nan")), ValueError, ["scale"]),
], ids=lambda value: "-".join(value) if isinstance(value, (dict, list)) else "")
def test_errors(change, error, words):
    q, k, v = inputs()
    arguments = dict(q=q, k=k, v=v) | change
    with pytest.raises(error) as raised:
        st.attention(arguments.pop("q"), arguments.pop("k"), arguments.pop("v"), **arguments)
    for word in words:
        assert word in str(raised.value)

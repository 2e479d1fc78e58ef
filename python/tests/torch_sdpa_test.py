"""skipattn.torch.scaled_dot_product_attention against PyTorch's, in float64 by its math kernel."""

import itertools
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch.nn.attention.bias import causal_lower_right, causal_upper_left  # noqa: E402
from torch_checks import assert_close, bound, math64  # noqa: E402

from skipattn.torch import FallbackWarning, scaled_dot_product_attention  # noqa: E402


@pytest.fixture(autouse=True)
def _no_fallback():
    """What skipattn should do is not to be left to PyTorch: a test that expects a fallback says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor are masks of many empty rows worth a warning
        yield


@pytest.fixture(autouse=True)
def _seed(request):
    seed = sum(map(ord, request.node.name))  # printed by pytest where a test fails
    print(f"seed {seed}")
    torch.manual_seed(seed)


def check(query, key, value, attn_mask=None, **options):
    out = scaled_dot_product_attention(query, key, value, attn_mask, **options)
    expected = math64(query, key, value, attn_mask, **options)
    assert_close(out, expected, bound(query, key, value, options.get("scale")))
    return out


def inputs(lead=(2, 3), q_len=17, k_len=29, dim=16, v_dim=None, kv_lead=None):
    kv_lead = lead if kv_lead is None else kv_lead
    v_dim = v_dim or dim
    return torch.randn(*lead, q_len, dim), torch.randn(*kv_lead, k_len, dim), torch.randn(*kv_lead, k_len, v_dim)


# ---------------------------------------------------------------------------------------------- shapes


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (1, 1), (2, 1, 3), (2, 2, 1, 3)], ids=str)
@pytest.mark.parametrize("v_dim", [16, 5])
@pytest.mark.parametrize("is_causal", [False, True])
def test_leading_axes(lead, v_dim, is_causal):
    check(*inputs(lead, v_dim=v_dim), is_causal=is_causal)


@pytest.mark.parametrize("q_len,k_len", list(itertools.product([1, 2, 31, 130], [1, 3, 128, 129, 300])))
@pytest.mark.parametrize("is_causal", [False, True])
def test_lengths(q_len, k_len, is_causal):
    check(*inputs((1, 2), q_len, k_len, 8), is_causal=is_causal)


@pytest.mark.parametrize("dim", [1, 3, 40, 64, 80, 128, 256])
def test_widths(dim):
    check(*inputs((2, 2), 20, 33, dim, v_dim=dim + 7))


@pytest.mark.parametrize("sizes", [(2, 0, 5), (2, 5, 0), (0, 5, 5)], ids=str)
def test_empty_axes(sizes):
    batch, q_len, k_len = sizes
    out = scaled_dot_product_attention(*inputs((batch, 3), q_len, k_len))
    assert out.shape == (batch, 3, q_len, 16)
    assert not out.any()


@pytest.mark.parametrize("q_lead,kv_lead", [((4, 3), (1, 3)), ((4, 3), (4, 1)), ((1, 3), (4, 3)), ((4, 1), (4, 3)),
                                            ((4, 3), (3,)), ((4, 3), ()), ((3,), (4, 3)), ((2, 4, 3), (4, 3))], ids=str)
def test_leading_axes_broadcast(q_lead, kv_lead):
    check(*inputs(q_lead, kv_lead=kv_lead))


def test_value_has_its_own_leading_axes():
    query, key, value = inputs()
    check(query, key[:, :1], value)
    check(query, key, value[:1])


@pytest.mark.parametrize("heads,kv_heads", [(8, 8), (8, 2), (6, 1)])
@pytest.mark.parametrize("lead", [(), (2,), (2, 2)], ids=str)
def test_grouped_queries(heads, kv_heads, lead):
    arguments = inputs((*lead, heads), kv_lead=(*lead, kv_heads))
    check(*arguments, enable_gqa=True)
    check(*arguments, torch.rand(heads, 17, 29) < .5, enable_gqa=True)


@pytest.mark.parametrize("scale", [None, 1.0, .3, -.5, 0.0])
def test_scale(scale):
    if scale is not None and scale < 0:  # PyTorch's math kernel takes the root of it
        query, key, value = inputs()
        out = scaled_dot_product_attention(query, key, value, scale=scale)
        assert_close(out, math64(-query, key, value, scale=-scale), bound(query, key, value, scale))
    else:
        check(*inputs(), scale=scale)


# ---------------------------------------------------------------------------------------------- layouts


def test_heads_inside_positions():
    query, key, value = (tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in inputs())
    out = check(query, key, value)
    assert out.transpose(1, 2).is_contiguous()  # as query is, so that joining the heads copies nothing
    assert check(*inputs()).is_contiguous()


def test_slices_of_a_packed_projection():
    packed = torch.randn(2, 19, 3, 4, 16)
    check(*(part.transpose(1, 2) for part in packed.unbind(2)))


def test_strides():
    query, key, value = inputs((2, 3), 17, 29, 16)
    padded = torch.full((2, 3, 29, 24), torch.nan)
    padded[..., :16] = key
    check(query, padded[..., :16], value)
    check(query.mT.contiguous().mT, key, value)  # the last stride is not 1: copied
    check(query, key[:, :1].expand(-1, 3, -1, -1), value.flip(2))


# ----------------------------------------------------------------------------------------------- masks


@pytest.mark.parametrize("shape", [(17, 29), (1, 29), (17, 1), (3, 17, 29), (1, 17, 29), (2, 3, 17, 29), (2, 1, 1, 29),
                                   (1, 3, 17, 1), (2, 1, 17, 29), (1, 1, 1, 1)], ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("floats", [False, True])
def test_masks(shape, is_causal, floats):
    mask = torch.rand(shape) < .6
    attn_mask = torch.zeros(shape).masked_fill(~mask, -torch.inf) if floats else mask
    check(*inputs(), attn_mask, is_causal=is_causal)


def test_mask_views():
    big = torch.rand(2, 3, 40, 64) < .5
    for view in (big[:, :, 5:22, 3:32], big[:, :, ::2, ::2][:, :, :17, :29], big.transpose(2, 3)[:, :, :17, :29],
                 big[:, :1, :17, :29].expand(2, 3, -1, -1), big[0, 0, :1, :29].expand(2, 3, 17, 29)):
        check(*inputs(), view)


def test_masks_with_more_leading_axes():
    for shape in ((17, 29), (3, 17, 29), (2, 3, 17, 29), (1, 3, 17, 29), (5, 2, 3, 17, 29), (5, 1, 1, 1, 29),
                  (1, 1, 3, 17, 29)):
        check(*inputs((5, 2, 3)), torch.rand(shape) < .5)
    check(*inputs((3,)), torch.rand(3, 17, 29) < .5)
    check(*inputs(()), torch.rand(17, 29) < .5)


@pytest.mark.parametrize("floats", [False, True])
def test_rows_without_keys_are_zero(floats):
    mask = torch.ones(2, 1, 17, 29, dtype=torch.bool)
    mask[0, :, 3:9] = False
    mask[1] = False
    attn_mask = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf) if floats else mask
    out = check(*inputs(), attn_mask)
    assert not out[0, :, 3:9].any() and not out[1].any() and bool(out[0, :, :3].all())


def test_minimum_in_place_of_infinity():
    mask = torch.rand(2, 1, 17, 29) < .5
    mask[..., 0] = True
    for low in (torch.finfo(torch.float32).min, -1e30):
        check(*inputs(), torch.zeros(mask.shape).masked_fill(~mask, low))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [(17, 29), (2, 1, 17, 29), (3, 17, 1), (1, 3, 1, 29), (2, 3, 17, 29)], ids=str)
def test_floats_are_added(shape, is_causal):
    query, key, value = inputs()
    bias = torch.randn(shape)
    for attn_mask in (bias, bias.masked_fill(bias < 0, -torch.inf), bias.masked_fill(bias < 0, -1e9)):
        out = scaled_dot_product_attention(query, key, value, attn_mask, is_causal=is_causal)
        expected = math64(query, key, value, attn_mask, is_causal=is_causal)
        # A row of nothing but -1e9 has lost the bits below: it is as float32 has it.
        kept = (attn_mask > -1e9).expand(2, 3, 17, 29)
        kept = (kept.tril() if is_causal else kept).any(-1, keepdim=True)
        assert_close(out * kept, expected * kept, bound(query, key, value, bias=bias))


def test_rows_of_minima_are_the_mean():
    query, key, value = inputs()
    for low in (torch.finfo(torch.float32).min, -1e30):
        out = scaled_dot_product_attention(query, key, value, torch.full((17, 29), low))
        mean = value.double().mean(-2, keepdim=True).expand(out.shape)
        assert_close(out, mean, bound(query, key, value))


@pytest.mark.parametrize("q_len,k_len", [(17, 29), (29, 29), (1, 29)])
def test_causal_bias_objects(q_len, k_len):
    query, key, value = inputs((2, 3), q_len, k_len)
    limit = bound(query, key, value)
    for bias in (causal_lower_right(q_len, k_len), causal_upper_left(q_len, k_len)):
        assert_close(scaled_dot_product_attention(query, key, value, bias),
                     math64(query, key, value, bias._materialize()), limit)


def test_masked_memory_may_hold_anything():
    query, key, value = inputs()
    mask = torch.rand(29) < .5
    expected = scaled_dot_product_attention(query, key, value, mask.expand(17, 29))
    key[..., ~mask, :], value[..., ~mask, :] = torch.nan, torch.inf
    assert torch.equal(scaled_dot_product_attention(query, key, value, mask.expand(17, 29)), expected)


def test_random_calls():
    for _ in range(150):
        lead = tuple(torch.randint(1, 4, (int(torch.randint(0, 4, ())),)).tolist())
        q_len, k_len, dim, v_dim = torch.randint(1, 70, (4,)).tolist()
        query, key, value = inputs(lead, q_len, k_len, dim, v_dim)
        mask = None
        if torch.rand(()) < .7:
            full = (*lead, q_len, k_len)[int(torch.randint(0, len(lead) + 1, ())):]
            shape = tuple(size if torch.rand(()) < .6 else 1 for size in full)
            mask = torch.rand(shape) < float(torch.rand(()))
        check(query, key, value, mask, is_causal=bool(torch.rand(()) < .3))


# ------------------------------------------------------------------------------------- left to PyTorch


def falls_back(*arguments, **options):
    with pytest.warns(FallbackWarning) as warned:
        out = scaled_dot_product_attention(*arguments, **options)
    assert warned[0].filename == __file__
    return out, str(warned[0].message)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_types(dtype):
    arguments = [tensor.to(dtype) for tensor in inputs()]
    out, why = falls_back(*arguments)
    assert torch.equal(out, F.scaled_dot_product_attention(*arguments)) and str(dtype) in why


def test_gradients():
    query, key, value = inputs()
    query.requires_grad_()
    out, why = falls_back(query, key, value)
    out.sum().backward()
    assert query.grad is not None and "grad" in why
    with torch.no_grad():
        check(query, key, value)


def test_autocast():
    with torch.autocast("cpu", torch.bfloat16):
        out, why = falls_back(*inputs())
    assert out.dtype == torch.bfloat16 and "autocast" in why


def test_vmap():
    query, key, value = inputs()
    mask = torch.rand(2, 17, 29) < .5
    for in_dims, arguments in (((0, 0, 0), (query, key, value)), ((None, None, None, 0), (query, key, value, mask)),
                               ((None, 0, None), (query, key, value))):
        with warnings.catch_warnings(record=True) as warned:  # PyTorch's function warns there as well
            warnings.simplefilter("always")
            out = torch.vmap(scaled_dot_product_attention, in_dims)(*arguments)
            expected = torch.vmap(F.scaled_dot_product_attention, in_dims)(*arguments)
        assert "torch.func" in str(warned[0].message) and warned[0].category is FallbackWarning
        torch.testing.assert_close(out, expected)


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        query, key, value = inputs()
        assert scaled_dot_product_attention(query, key, value).shape == (2, 3, 17, 16)
        assert scaled_dot_product_attention(query, key, value, torch.ones(17, 29).bool()).shape == (2, 3, 17, 16)
        assert scaled_dot_product_attention(query, key, value, torch.zeros(17, 29)).shape == (2, 3, 17, 16)


def test_floats_in_compiled_code():
    query, key, value = inputs()
    compiled = torch.compile(scaled_dot_product_attention, fullgraph=True, backend="aot_eager")
    for bias in (torch.randn(17, 29), torch.randn(17, 29).round() * torch.inf):
        bias = bias.nan_to_num(0).clamp(max=0)
        assert torch.equal(compiled(query, key, value, bias), scaled_dot_product_attention(query, key, value, bias))


def test_dropout():
    out, why = falls_back(*inputs(), dropout_p=.5)
    assert out.shape == (2, 3, 17, 16) and "dropout" in why


def test_meta_tensors():
    out, why = falls_back(*(tensor.to("meta") for tensor in inputs()))
    assert out.shape == (2, 3, 17, 16) and out.device.type == "meta" and "meta" in why


@pytest.mark.parametrize("arguments", [
    (torch.zeros(2, 3, 4, 8), torch.zeros(2, 3, 4, 9), torch.zeros(2, 3, 4, 8)),
    (torch.zeros(2, 3, 4, 8), torch.zeros(2, 2, 4, 8), torch.zeros(2, 2, 4, 8)),
    (torch.zeros(2, 3, 4, 8),) * 3 + (torch.zeros(5, 4, dtype=torch.bool),),
    (torch.zeros(2, 3, 4, 8),) * 3 + (torch.zeros(4, 4, dtype=torch.int64),),
    (torch.zeros(8),) * 3,
], ids=["dim", "heads", "mask", "int mask", "one axis"])
def test_wrong_arguments_get_pytorchs_error(arguments):
    with pytest.warns(FallbackWarning), pytest.raises((RuntimeError, IndexError)) as ours:
        scaled_dot_product_attention(*arguments)
    with pytest.raises((RuntimeError, IndexError)) as theirs:
        F.scaled_dot_product_attention(*arguments)
    assert str(ours.value) == str(theirs.value)

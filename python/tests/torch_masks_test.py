"""The named conversions of masks against what PyTorch's own modules do with the same masks."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn.attention.bias import causal_lower_right  # noqa: E402

import skipattn as sa  # noqa: E402
import skipattn.torch as st  # noqa: E402


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(3)


def attended(mask, batch, heads, q_len, k_len):
    """What a mask attends, [B, H, Tq, Tk]: with q = 0 a row of the output over unit vectors holds its weights."""
    out = st.attention(torch.zeros(batch, heads, q_len, 1), torch.zeros(batch, heads, k_len, 1),
                       torch.eye(k_len).expand(batch, heads, -1, -1), mask)
    return out > 0


def additive(masked, low=-torch.inf):
    return torch.zeros(masked.shape).masked_fill(masked, low)


@pytest.mark.parametrize("form", ["bool", "floats", "minimum"])
def test_key_padding(form):
    ignored = torch.rand(2, 7) < .5
    ignored[0] = True  # nothing but padding
    given = {"bool": ignored, "floats": additive(ignored), "minimum": additive(ignored, torch.finfo().min)}[form]
    mask = st.mask_from_key_padding(given)
    assert torch.equal(attended(mask, 2, 3, 5, 7), ~ignored[:, None, None].expand(2, 3, 5, 7))
    assert torch.equal(attended(st.mask_from_key_padding(given[1]), 1, 1, 5, 7), ~ignored[1].expand(1, 1, 5, 7))


@pytest.mark.parametrize("floats", [False, True])
def test_attn_mask(floats):
    forbidden = torch.rand(2 * 3, 5, 7) < .5
    given = additive(forbidden) if floats else forbidden
    assert torch.equal(attended(st.mask_from_attn_mask(given[0]), 2, 3, 5, 7), ~forbidden[0].expand(2, 3, 5, 7))
    mask = st.mask_from_attn_mask(given, num_heads=3)
    assert torch.equal(attended(mask, 2, 3, 5, 7), ~forbidden.view(2, 3, 5, 7))


def test_attention_of_a_module_by_its_masks():
    module = nn.MultiheadAttention(12, 3, bias=False, batch_first=True).eval()
    x = torch.randn(2, 7, 12)
    ignored = torch.arange(7) >= torch.tensor([[7], [4]])
    causal = nn.Transformer.generate_square_subsequent_mask(7)
    with torch.no_grad():
        expected, _ = module(x, x, x, key_padding_mask=additive(ignored), attn_mask=causal, need_weights=False)
        q, k, v = (x @ weight.T for weight in module.in_proj_weight.chunk(3))
        q, k, v = (part.unflatten(-1, (3, 4)) for part in (q, k, v))
        mask = st.mask_from_key_padding(ignored) & st.mask_from_attn_mask(causal)
        out = st.attention(q, k, v, mask, layout="bthd")
    torch.testing.assert_close(module.out_proj(out.flatten(2)), expected)


@pytest.mark.parametrize("shape", [(5, 7), (3, 5, 7), (2, 3, 5, 7), (2, 1, 1, 7)], ids=str)
@pytest.mark.parametrize("floats", [False, True])
def test_sdpa(shape, floats):
    allowed = torch.rand(shape) < .5
    given = additive(~allowed) if floats else allowed
    assert torch.equal(attended(st.mask_from_sdpa(given), 2, 3, 5, 7), allowed.expand(2, 3, 5, 7))


def test_sdpa_causal_bias():
    bias = causal_lower_right(5, 7)
    assert torch.equal(attended(st.mask_from_sdpa(bias), 2, 3, 5, 7), bias._materialize().expand(2, 3, 5, 7))


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.int32, torch.uint8])
def test_huggingface(dtype):
    tokens = torch.rand(2, 7) < .5
    mask = st.mask_from_huggingface(tokens.to(dtype))
    assert torch.equal(attended(mask, 2, 3, 5, 7), tokens[:, None, None].expand(2, 3, 5, 7))
    causal = mask & sa.mask.causal(align="bottom_right")
    expected = tokens[:, None, None] & torch.ones(5, 7, dtype=torch.bool).tril(2)
    assert torch.equal(attended(causal, 2, 3, 5, 7), expected.expand(2, 3, 5, 7))


@pytest.mark.parametrize("call,words", [
    (lambda: st.mask_from_key_padding(torch.ones(2, 7, dtype=torch.int64)), ["key_padding_mask", "int64", "ignore"]),
    (lambda: st.mask_from_key_padding(torch.ones(2, 7)), ["key_padding_mask", "-inf"]),
    (lambda: st.mask_from_key_padding(torch.ones(2, 1, 7, dtype=torch.bool)), ["key_padding_mask", "3 axes"]),
    (lambda: st.mask_from_attn_mask(torch.ones(6, 5, 7, dtype=torch.bool)), ["num_heads", "None"]),
    (lambda: st.mask_from_attn_mask(torch.ones(6, 5, 7, dtype=torch.bool), 4), ["num_heads", "4", "6"]),
    (lambda: st.mask_from_attn_mask(torch.full((5, 7), torch.nan)), ["attn_mask", "-inf"]),
    (lambda: st.mask_from_sdpa(torch.ones(5, 7, dtype=torch.int32)), ["attn_mask", "int32", ".bool()"]),
    (lambda: st.mask_from_sdpa(torch.ones(7, dtype=torch.bool)), ["attn_mask", "1 axes"]),
    (lambda: st.mask_from_huggingface(torch.full((2, 7), 2)), ["attention_mask", "0 and 1"]),
    (lambda: st.mask_from_huggingface(torch.zeros(2, 7)), ["attention_mask", "float32"]),
    (lambda: st.mask_from_huggingface(torch.ones(2, 1, 5, 7, dtype=torch.bool)), ["attention_mask", "mask_from_sdpa"]),
])
def test_errors_name_the_fix(call, words):
    with pytest.raises(ValueError) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_not_a_tensor():
    for convert in (st.mask_from_sdpa, st.mask_from_key_padding, st.mask_from_attn_mask, st.mask_from_huggingface):
        with pytest.raises(TypeError, match="list"):
            convert([[True]])

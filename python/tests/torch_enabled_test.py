"""skipattn.torch.enabled: models unchanged, their attention through skipattn by its count of calls."""

import threading

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.attention.bias import causal_lower_right  # noqa: E402

from skipattn.torch import _operator, enabled  # noqa: E402


@pytest.fixture(autouse=True)
def _state():
    torch.manual_seed(7)
    _operator.plans.clear()  # equal masks of other tests would be found
    original = F.scaled_dot_product_attention
    with torch.no_grad():
        yield
    assert F.scaled_dot_product_attention is original
    assert torch._C._len_torch_function_stack() == 0
    assert torch.backends.mha.get_fastpath_enabled()


class Block(nn.Module):
    """A layer as Hugging Face models have it: a 4-D mask, cut to the keys in every layer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)

    def forward(self, x, mask):
        q, k, v = (part.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        if mask is not None:
            mask = mask[:, :, :, : k.size(-2)]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        return x + self.join(out.transpose(1, 2).flatten(2))


class Model(nn.Module):
    """Decoder layers under one mask: padding and causal, bool or floats."""

    def __init__(self, layers=3, width=32, heads=4, floats=False):
        super().__init__()
        self.floats = floats
        self.layers = nn.ModuleList(Block(width, heads) for _ in range(layers))

    def forward(self, x, attention_mask=None):
        mask = None
        if attention_mask is not None:
            length = x.size(1)
            mask = attention_mask.bool()[:, None, None, :] & torch.ones(length, length, dtype=torch.bool).tril()
            if self.floats:
                mask = torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)
        for layer in self.layers:
            x = layer(x, mask)
        return x


def tokens():
    """Embeddings of two padded sequences and their attention_mask: one padded left, one right."""
    attention_mask = torch.ones(2, 21, dtype=torch.int64)
    attention_mask[0, :6] = 0
    attention_mask[1, 15:] = 0
    return torch.randn(2, 21, 32), attention_mask


def plans_made():
    return _operator.plans.made


# -------------------------------------------------------------------------------------------- models


def test_a_model_without_a_mask():
    model, (x, _) = Model(), tokens()
    expected = model(x)
    with enabled() as e:
        y = model(x)
    assert e.calls == 3 and not e.fallbacks
    torch.testing.assert_close(y, expected)


@pytest.mark.parametrize("floats", [False, True])
def test_the_layers_of_one_pass_plan_once(floats):
    model, (x, attention_mask) = Model(floats=floats), tokens()
    expected = model(x, attention_mask)
    before = plans_made()
    with enabled() as e:
        y = model(x, attention_mask)
    assert e.calls == 3 and not e.fallbacks
    assert plans_made() == before + 1
    valid = attention_mask.bool()
    torch.testing.assert_close(y[valid], expected[valid])
    if floats:  # where a row has nothing but minima, they are numbers
        torch.testing.assert_close(y, expected)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_transformer_encoder_layer(batch_first, norm_first):
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=batch_first, norm_first=norm_first).eval()
    x, attention_mask = tokens()
    ignored = attention_mask == 0
    source = x if batch_first else x.transpose(0, 1)
    expected = layer(source, src_key_padding_mask=ignored)
    with enabled() as e:
        y = layer(source, src_key_padding_mask=ignored)
    assert e.calls == 1 and not e.fallbacks
    if not batch_first:
        y, expected = y.transpose(0, 1), expected.transpose(0, 1)
    torch.testing.assert_close(y[~ignored], expected[~ignored])


def test_transformer_encoder_plans_once():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    x, attention_mask = tokens()
    ignored = attention_mask == 0
    expected = encoder(x, src_key_padding_mask=ignored)
    before = plans_made()
    with enabled() as e:
        y = encoder(x, src_key_padding_mask=ignored)
    assert e.calls == 4 and not e.fallbacks
    assert plans_made() == before + 1
    torch.testing.assert_close(y[~ignored], expected[~ignored])


def test_transformer_decoder_layer():
    layer = nn.TransformerDecoderLayer(32, 4, 64, batch_first=True).eval()
    x, attention_mask = tokens()
    target = torch.randn(2, 9, 32)
    causal = nn.Transformer.generate_square_subsequent_mask(9)
    arguments = dict(tgt_mask=causal, memory_key_padding_mask=attention_mask == 0, tgt_is_causal=True)
    expected = layer(target, x, **arguments)
    with enabled() as e:
        y = layer(target, x, **arguments)
    assert e.calls == 2 and not e.fallbacks
    torch.testing.assert_close(y, expected)


def test_multihead_attention():
    module = nn.MultiheadAttention(32, 4, batch_first=True, kdim=20, vdim=12).eval()
    query, key, value = torch.randn(2, 7, 32), torch.randn(2, 21, 20), torch.randn(2, 21, 12)
    expected, _ = module(query, key, value, need_weights=False)
    with enabled() as e:
        y, _ = module(query, key, value, need_weights=False)
        weights = module(query, key, value)[1]  # with weights it computes itself
    assert e.calls == 1 and weights is not None
    torch.testing.assert_close(y, expected)


def test_causal_bias_objects():
    query, key = torch.randn(1, 2, 5, 8), torch.randn(1, 2, 9, 8)
    expected = F.scaled_dot_product_attention(query, key, key, torch.ones(5, 9, dtype=torch.bool).tril(4))
    with enabled() as e:
        y = F.scaled_dot_product_attention(query, key, key, causal_lower_right(5, 9))
    assert e.calls == 1
    torch.testing.assert_close(y, expected)


def test_under_another_mode():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
    x, _ = tokens()
    for device_outside in (True, False):
        outer, inner = (torch.device("cpu"), enabled()) if device_outside else (enabled(), torch.device("cpu"))
        with outer, inner:
            layer(x)
        assert (inner if device_outside else outer).calls == 1


# ----------------------------------------------------------------------------------- the context itself


def call():
    x = torch.randn(1, 2, 5, 8)
    return F.scaled_dot_product_attention(x, x, x)


def test_only_inside():
    with enabled() as e:
        call()
    call()
    assert e.calls == 1
    with e:
        call()
    assert e.calls == 2


def test_nesting():
    with enabled() as outer:
        call()
        with enabled() as inner:
            call()
            call()
        call()
    assert (outer.calls, inner.calls) == (2, 2)
    with enabled() as e, e:
        call()
    assert e.calls == 1


def test_an_exception_restores():
    with pytest.raises(RuntimeError), enabled() as e:
        call()
        F.scaled_dot_product_attention(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 5), torch.zeros(1, 2, 3, 5))
    call()
    assert e.calls == 1 and sum(e.fallbacks.values()) == 1


def test_fallbacks_are_counted_by_reason():
    x = torch.randn(1, 2, 5, 8)
    with enabled() as e, torch.enable_grad():
        F.scaled_dot_product_attention(x, x, x, dropout_p=.5)
        F.scaled_dot_product_attention(x.double(), x.double(), x.double())
        F.scaled_dot_product_attention(x.double(), x.double(), x.double())
        y = F.scaled_dot_product_attention(x.requires_grad_(), x, x)
    assert y.requires_grad
    assert e.calls == 0
    assert sorted(e.fallbacks.values()) == [1, 1, 2]
    assert e.fallbacks["dtype torch.float64"] == 2


def test_other_threads_are_left_alone():
    inside, leave = threading.Event(), threading.Event()
    counts = {}

    def with_it():
        with torch.no_grad(), enabled() as e:
            inside.set()
            leave.wait(30)
            for _ in range(20):
                call()
            counts["inside"] = e.calls

    thread = threading.Thread(target=with_it)
    thread.start()
    assert inside.wait(30)
    with enabled() as e:
        call()
    call()
    assert torch.backends.mha.get_fastpath_enabled()
    leave.set()
    thread.join()
    assert counts["inside"] == 20 and e.calls == 1


def test_threads_at_once():
    model, (x, attention_mask) = Model(), tokens()
    with enabled():
        expected = model(x, attention_mask)
    results = []

    def work():
        with torch.no_grad(), enabled() as e:
            for _ in range(10):
                y = model(x, attention_mask)
        results.append((e.calls, torch.equal(y, expected)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(30, True)] * 4


@pytest.mark.parametrize("with_mask", [False, True])
def test_compiled_inside(with_mask):
    model, (x, attention_mask) = Model(), tokens()
    arguments = (x, attention_mask) if with_mask else (x,)
    with enabled():
        expected = model(*arguments)
    with enabled() as e:
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        assert torch.equal(compiled(*arguments), expected)
        assert torch.equal(compiled(*arguments), expected)
    assert e.calls == 6 and not e.fallbacks


def test_layers_compiled_inside_stay_as_they_are():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
    x, attention_mask = tokens()
    expected = layer(x, src_key_padding_mask=attention_mask == 0)
    for fast_path in (True, False):
        torch._dynamo.reset()
        torch.backends.mha.set_fastpath_enabled(fast_path)
        try:
            with enabled():
                y = torch.compile(layer, backend="aot_eager")(x, src_key_padding_mask=attention_mask == 0)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)
        torch.testing.assert_close(y[attention_mask == 1], expected[attention_mask == 1])


# ------------------------------------------------------------------------------- masks that change


def masked(mask, value):
    """The mean of the values that a row attends, by skipattn."""
    query = torch.zeros(1, 1, mask.size(-2), 8)
    key = torch.zeros(1, 1, mask.size(-1), 8)
    with enabled() as e:
        out = F.scaled_dot_product_attention(query, key, value, mask)
    assert e.calls == 1 and not e.fallbacks
    return out


def check_mean(mask, value):
    weights = (mask if mask.dtype == torch.bool else mask == 0).float()
    torch.testing.assert_close(masked(mask, value), weights @ value / weights.sum(-1, keepdim=True).clamp(min=1))


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("inference", [False, True])
def test_a_mask_written_in_place(floats, inference):
    with torch.inference_mode(inference):
        value = torch.randn(1, 1, 24, 8)
        mask = torch.rand(1, 1, 16, 24) < .5
        if floats:
            mask = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        closed = -torch.inf if floats else False
        check_mean(mask, value)
        before = plans_made()
        check_mean(mask, value)
        assert plans_made() == before
        mask[..., 3:9] = closed  # bumps the version, where there is one
        check_mean(mask, value)
        mask.numpy()[..., 12] = closed  # does not
        check_mean(mask, value)
        mask.data[..., 13] = closed
        check_mean(mask, value)
        assert plans_made() >= before + 2


def test_a_mask_at_the_address_of_another():
    value = torch.randn(1, 1, 24, 8)
    addresses = set()
    for _ in range(50):
        mask = torch.rand(1, 1, 16, 24) < .5
        addresses.add(mask.data_ptr())
        check_mean(mask, value)
        del mask
    assert len(addresses) < 50  # else this tested nothing


def test_equal_masks_share_a_plan():
    value = torch.randn(1, 1, 24, 8)
    mask = torch.rand(1, 1, 16, 24) < .5
    check_mean(mask, value)
    before = plans_made()
    check_mean(mask.clone(), value)
    assert plans_made() == before

"""skipattn.onnx.attention by the node tests of the ONNX package, and by its errors."""

import warnings

import numpy as np
import pytest
from evaluator import normal

import skipattn.onnx

onnx = pytest.importorskip("onnx")

# The cases that cannot be asked of the package yet, and why: they are errors.
MISSING = {f"test_attention_{name}": why for why, names in {
    "float16": ["4d_fp16", "4d_gqa_with_past_and_present_fp16", "4d_causal_fp16", "4d_gqa_causal_nonpad_decode_fp16",
                "24_qk_matmul_output_mode3_softmax_precision", "local_window_ext_cache_float16_mask"],
    "bfloat16": ["4d_causal_bf16", "4d_padded_kv_bf16", "4d_causal_padded_kv_bf16", "4d_attn_mask_causal_bf16",
                 "3d_causal_bf16"],
}.items() for name in names}  # fmt: skip


def collect():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cases of other operators, which are made as well
        return collect_testcases("Attention")


CASES = collect()
# "_expanded": the same inputs and outputs, for a graph of simpler operators.
NODES = [case for case in CASES if not case.name.endswith("_expanded")]
WIDE = {np.dtype("float32"): (2e-5, 2e-6), np.dtype("float16"): (2e-3, 1e-3)}


def test_census():
    assert len(CASES) >= 186 and 2 * len(NODES) == len(CASES)
    names = {case.name for case in NODES}
    assert all(case.name.removesuffix("_expanded").removesuffix("_ver18") in names for case in CASES)
    assert MISSING.keys() <= names


@pytest.mark.parametrize("case", NODES, ids=lambda case: case.name.removeprefix("test_attention_"))
def test_node(case):
    (node,) = case.model.graph.node
    for given, expected in case.data_sets:
        inputs = iter(given)
        inputs = [next(inputs) if name else None for name in node.input]
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if "qk_matmul_output" in node.output:
            attributes.setdefault("qk_matmul_output_mode", 0)
        if case.name in MISSING:
            with pytest.raises((TypeError, ValueError)):
                skipattn.onnx.attention(*inputs, **attributes)
            pytest.skip(MISSING[case.name])
        outputs = skipattn.onnx.attention(*inputs, **attributes)
        wanted = iter(expected)
        for name, got in zip(node.output, outputs):
            if not name:
                continue
            want = next(wanted)
            assert got.dtype == want.dtype and got.shape == want.shape, name
            rtol, atol = WIDE.get(want.dtype, (1e-2, 1e-2))
            np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol, atol, err_msg=name)


def arrays():
    return normal(1, 2, 4, 5, 8), normal(2, 2, 2, 7, 8), normal(3, 2, 2, 7, 6)


def test_what_is_not_asked_for_is_not_given():
    outputs = skipattn.onnx.attention(*arrays())
    assert outputs.Y.shape == (2, 4, 5, 6) and outputs[1:] == (None, None, None)


def test_a_short_mask_reads_no_key_beyond_it():
    q, k, v = arrays()
    want = skipattn.onnx.attention(q, k[:, :, :4], v[:, :, :4], np.ones((5, 4), bool)).Y
    k[:, :, 4:] = v[:, :, 4:] = np.nan
    for mask in (np.ones((5, 4), bool), np.zeros((5, 4), np.float32)):
        outputs = skipattn.onnx.attention(q, k, v, mask, nonpad_kv_seqlen=np.array([4, 4]), qk_matmul_output_mode=3)
        assert outputs.Y.tobytes() == want.tobytes()
        assert outputs.qk_matmul_output.shape == (2, 4, 5, 7) and not outputs.qk_matmul_output[..., 4:].any()


@pytest.mark.parametrize(
    "words, change",
    [
        ("Q: rank is 2", dict(Q=np.zeros((3, 4), np.float32))),
        ("q_num_heads is None", dict(Q=np.zeros((2, 5, 32), np.float32))),
        ("q_num_heads is 5, expected a divisor", dict(Q=np.zeros((2, 5, 32), np.float32), q_num_heads=5)),
        ("kv_num_heads is 2, expected none", dict(kv_num_heads=2)),
        ("past_key or past_value is given alone", dict(past_key=np.zeros((2, 2, 3, 8), np.float32))),
        ("softmax_precision is 3", dict(softmax_precision=3)),
        ("qk_matmul_output_mode is 4", dict(qk_matmul_output_mode=4)),
        ("attn_mask: rank is 5", dict(attn_mask=np.zeros((1, 1, 1, 1, 1), bool))),
        ("nonpad_kv_seqlen is up to 6", dict(attn_mask=np.ones((5, 4), bool), nonpad_kv_seqlen=np.array([2, 6]))),
        ("nonpad_kv_seqlen is given beside past_key", dict(
            past_key=np.zeros((2, 2, 3, 8), np.float32), past_value=np.zeros((2, 2, 3, 6), np.float32),
            nonpad_kv_seqlen=np.array([2, 6]))),
        ("key_lengths", dict(nonpad_kv_seqlen=np.array([2, 8]))),
        ("window", dict(left_window_size=-2)),
        ("softcap", dict(softcap=-1.0)),
        ("dtype is float64", dict(Q=np.zeros((2, 4, 5, 8)))),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_errors(words, change):
    q, k, v = arrays()
    with pytest.raises(ValueError, match=words):
        skipattn.onnx.attention(**(dict(Q=q, K=k, V=v) | change))

"""What goes in and comes out: kinds of arrays, read-only ones, alignment, memory."""

import array
import gc
import resource
import sys
import tracemalloc

import numpy as np
import pytest
from evaluator import normal

import skipattn as sa

Q = normal(1, 2, 2, 5, 8)
WANT = sa.attention(Q, Q, Q)


class Exporter:
    """An array of an unknown library: DLPack and nothing else."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **kwargs):
        return self.values.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class OldExporter(Exporter):
    """The same, from before DLPack 1: it knows no max_version."""

    def __dlpack__(self, stream=None):
        return self.values.__dlpack__()


@pytest.mark.parametrize(
    "kind",
    [memoryview, Exporter, OldExporter, lambda a: a.view(type("Sub", (np.ndarray,), {}))],
    ids=["memoryview", "dlpack", "old dlpack", "subclass"],
)
def test_kinds(kind):
    got = sa.attention(kind(Q), kind(Q), kind(Q))
    assert isinstance(got, np.ndarray) and got.tobytes() == WANT.tobytes()
    out = np.zeros_like(Q)
    wrapped = kind(out)
    assert sa.attention(Q, Q, Q, out=wrapped) is wrapped and out.tobytes() == WANT.tobytes()
    lengths = kind(np.array([5, 3]))
    same = sa.attention(Q, Q, Q, sa.mask.key_lengths(lengths))
    assert same.tobytes() == sa.attention(Q, Q, Q, sa.mask.key_lengths([5, 3])).tobytes()


def test_lengths_of_the_standard_library():
    got = sa.attention(Q, Q, Q, sa.mask.key_lengths(array.array("q", [5, 3])))
    assert got.tobytes() == sa.attention(Q, Q, Q, sa.mask.key_lengths((5, 3))).tobytes()


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    q = torch.from_numpy(Q)
    out, lse = sa.attention(q, q, q, return_lse=True)
    assert type(out) is type(lse) is torch.Tensor and out.numpy().tobytes() == WANT.tobytes()
    assert out.data_ptr() % 64 == 0 and lse.data_ptr() % 64 == 0
    given = torch.empty_like(q)
    assert sa.attention(q, q, q, out=given) is given and torch.equal(given, out)
    plan = sa.plan(q.shape, q.shape, q.shape, q.dtype, sa.mask.key_lengths(torch.tensor([5, 5])))
    assert torch.equal(plan.run(q, q, q), out)
    mixed = sa.attention(q, Q, Q)
    assert type(mixed) is torch.Tensor and torch.equal(mixed, out)
    with torch.inference_mode():
        assert torch.equal(sa.attention(q * 1, q, q), out)


def test_torch_tensors_that_mean_something_else():
    torch = pytest.importorskip("torch")
    q = torch.from_numpy(Q)
    leaf = q.clone().requires_grad_()
    for grad in (leaf, torch.nn.Parameter(q.clone()), leaf * 2):
        with pytest.raises(ValueError, match=r"q is a tensor that requires grad.*detach\(\)"):
            sa.attention(grad, q, q)
        with pytest.raises(ValueError, match="out is a tensor that requires grad"):
            sa.attention(q, q, q, out=grad)
    with pytest.raises(ValueError, match="resolve_neg"):
        sa.attention(q, torch._neg_view(q), q)
    for odd in (q.to("meta"), q.to_sparse(), torch.zeros(2, 2, 5, 8, dtype=torch.complex64)):
        with pytest.raises((TypeError, ValueError), match="v"):
            sa.attention(q, q, odd)


def test_jax_arrays():
    jnp = pytest.importorskip("jax.numpy")
    q = jnp.asarray(Q)
    out = sa.attention(q, q, q)
    assert isinstance(out, type(q)) and np.asarray(out).tobytes() == WANT.tobytes()
    with pytest.raises(TypeError, match="written"):
        sa.attention(q, q, q, out=q + 1)


def test_read_only_arrays_go_in_but_are_no_output():
    q = Q.copy()
    q.flags.writeable = False
    valid = np.ones((2, 5), bool)
    valid.flags.writeable = False
    assert sa.attention(q, q, q, sa.mask.key_valid(valid)).tobytes() == WANT.tobytes()
    out = np.zeros_like(Q)
    out.flags.writeable = False
    for read_only in (out, memoryview(out.data)):
        with pytest.raises(TypeError, match="out is .*read-only"):
            sa.attention(q, q, q, out=read_only)


def test_unaligned_arrays():
    unaligned = np.zeros(Q.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(Q.shape)
    with pytest.raises(ValueError, match="k: data is not aligned"):
        sa.attention(Q, unaligned, Q)
    with pytest.raises(ValueError, match="out: data is not aligned"):
        sa.attention(Q, Q, Q, out=unaligned)
    halves = np.zeros((2, 2, 5, 8), np.dtype([("a", np.float32), ("b", np.int16)]))["a"]
    with pytest.raises(TypeError, match="strides of whole elements"):
        sa.attention(Q, halves, Q)


def test_results_are_aligned_and_own_their_memory():
    out, lse = sa.attention(Q, Q, Q, return_lse=True)
    for result in (out, lse):
        assert result.ctypes.data % 64 == 0 and result.flags.writeable and result.flags.c_contiguous
    part = out[0, 1]
    want = part.copy()
    del out
    gc.collect()
    for _ in range(100):
        sa.attention(Q, Q, Q)
    assert part.tobytes() == want.tobytes()


def test_nothing_is_copied():
    # A copy of any input would show: as numpy's memory, or as memory of the process.
    q = np.ones((1, 1, 1, 64), np.float32)
    k = np.broadcast_to(q, (1, 1, 1 << 16, 64))  # 16 MB as far as the shape tells, 256 bytes
    valid = np.broadcast_to(np.ones((1, 1), bool), (1, 1 << 16))
    plan = sa.plan(q.shape, k.shape, k.shape)
    plan.run(q, k, k)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        plan.run(q, k, k)
        sa.attention(q, k, k, sa.mask.key_valid(valid) & sa.mask.causal(offset=1 << 16))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000  # kilobytes


def resident_kilobytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def test_nothing_leaks():
    q = normal(3, 1, 1, 16, 64)  # 4 kB a result: 10,000 of each would be 80 MB
    plan = sa.plan(q.shape, q.shape, q.shape)

    def calls(n):
        for _ in range(n):
            mask = sa.mask.key_lengths(np.array([12])) & sa.mask.causal()
            sa.attention(q, q, q, mask, return_lse=True)
            plan.run(q, q, q)
            try:
                sa.attention(q, q, q[0])
            except ValueError:
                pass

    calls(500)
    gc.collect()
    before = resident_kilobytes()
    calls(10_000)
    gc.collect()
    assert resident_kilobytes() - before < 4_000


def test_reference_counts():
    lengths = np.array([5, 3])
    q = Q.copy()
    counts = [sys.getrefcount(x) for x in (q, lengths, None)]
    for _ in range(50):
        mask = sa.mask.key_lengths(lengths)
        sa.attention(q, q, q, mask)
        with pytest.raises(ValueError):
            sa.attention(q, q, q[:1], mask)
    del mask
    after = [sys.getrefcount(x) for x in (q, lengths, None)]
    assert after[:2] == counts[:2] and abs(after[2] - counts[2]) < 50

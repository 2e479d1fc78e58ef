"""The cache by contents: found again by bytes alone, bounded, and safe to share."""

import threading

import pytest

torch = pytest.importorskip("torch")

from skipattn.torch._contents import ContentCache, one_plane  # noqa: E402


EACH = 1 << 20


def made(cache, *tensors, key=""):
    """Whether the cache had to make the value."""
    before = cache.made
    cache.get(key, tensors, lambda copies: object())
    return cache.made > before


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.float16, torch.int64, torch.int32])
@pytest.mark.parametrize("width", [1, 3, 8, 16, 17])
def test_every_element_counts(dtype, width):
    tensor = torch.zeros(3, 4, width).to(dtype)
    cache = ContentCache(1000, 1 << 20, EACH)
    assert made(cache, tensor)
    assert not made(cache, tensor) and not made(cache, tensor.clone())
    for place in range(tensor.numel()):
        other = tensor.clone()
        other.view(-1)[place] = 1
        assert made(cache, other), place
        assert not made(cache, other), place


def test_nan_is_found_again_and_zeros_of_both_signs_differ():
    cache = ContentCache(10, 1 << 20, EACH)
    tensor = torch.tensor([torch.nan, 0.0])
    assert made(cache, tensor) and not made(cache, tensor)
    assert made(cache, torch.tensor([torch.nan, -0.0]))


def test_views():
    big = torch.rand(5, 40, 64) < .5
    cache = ContentCache(100, 1 << 20, EACH)
    for view in (big[:, 3:20, 5:44], big[:, ::2, ::2], big.mT, big.flip(1), big[:, :1, :], big[1, 2]):
        assert made(cache, view)
        assert not made(cache, view.clone())
        assert not made(cache, view)


def test_a_broadcast_view_costs_one_plane():
    plane = torch.rand(1, 1, 64, 64) < .5
    copies = []
    cache = ContentCache(10, 64 * 64, EACH)  # room for one plane
    for _ in range(2):
        cache.get("", [plane.expand(8, 12, -1, -1)], copies.extend)
    assert cache.made == 1
    assert copies[0].shape == (8, 12, 64, 64) and copies[0].untyped_storage().nbytes() == 64 * 64
    assert one_plane(plane.expand(8, 12, -1, -1)).shape == (1, 1, 64, 64)


def test_shapes_types_and_keys_separate():
    cache = ContentCache(10, 1 << 20, EACH)
    tensor = torch.zeros(4, 6, dtype=torch.int32)
    assert made(cache, tensor)
    assert made(cache, tensor.view(6, 4)) and made(cache, tensor.float()) and made(cache, tensor, key="other")
    assert made(cache, tensor[:1].expand(4, 6))  # the same elements, but another broadcast: planned again
    assert made(cache) and not made(cache)


def test_copies_are_the_caches_own():
    cache = ContentCache(10, 1 << 20, EACH)
    tensor = torch.zeros(4)
    cache.get("", [tensor], lambda copies: None)
    tensor.numpy()[2] = 1
    assert made(cache, tensor)
    with torch.inference_mode():
        ones = torch.ones(3)
        assert made(cache, ones)
    assert not made(cache, torch.ones(3)) and not made(cache, ones)
    ones = ones.numpy()  # of no version, written behind PyTorch's back
    ones[1] = 5
    assert made(cache, torch.from_numpy(ones))


def test_the_least_recently_used_leaves():
    cache = ContentCache(2, 1 << 20, EACH)
    a, b, c = (torch.full((4,), float(n)) for n in range(3))
    assert made(cache, a) and made(cache, b) and not made(cache, a) and made(cache, c)
    assert len(cache) == 2
    assert not made(cache, a) and made(cache, b)
    cache = ContentCache(100, 3000, EACH)
    for n in range(10):
        assert made(cache, torch.full((256,), float(n)))
    assert len(cache) == 2
    assert made(cache, torch.zeros(10000)) and not made(cache, torch.zeros(10000))  # the last one stays in any case
    assert len(cache) == 1
    cache.clear()
    assert len(cache) == 0


def test_large_tensors_are_not_kept():
    cache = ContentCache(10, 1 << 20, 1000)
    seen = []
    for _ in range(2):
        cache.get("", [large := torch.zeros(251)], seen.append)
        assert seen[-1] == [large] and seen[-1][0] is large
    assert cache.made == 2 and len(cache) == 0
    assert made(cache, torch.zeros(250)) and not made(cache, torch.zeros(250))
    assert made(cache, torch.zeros(250).expand(8, -1)) and not made(cache, torch.zeros(250).expand(8, -1))


def test_the_values_of_one_key_and_of_several_age_alike():
    cache = ContentCache(3, 1 << 20, EACH)
    a, b = torch.zeros(4), torch.ones(4)
    assert made(cache, a) and made(cache, b) and made(cache, key="other")
    assert not made(cache, a)  # b is the oldest value of the newest key, "other" the oldest key
    assert made(cache, key="one more")
    assert not made(cache, a) and not made(cache, b) and made(cache, key="other")


def test_threads():
    cache = ContentCache(4, 1 << 20, EACH)
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(300):
            n = int(torch.randint(0, 8, (), generator=generator))
            if cache.get("", [torch.full((9,), n)], lambda copies: int(copies[0][0])) != n:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(cache) <= 4

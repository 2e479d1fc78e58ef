"""Values kept by the contents of tensors: the same bytes again give the kept value, anything else a new one."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch


def one_plane(tensor: torch.Tensor) -> torch.Tensor:
    """A view in which every broadcast (stride 0) axis has size 1: all that there is to read."""
    for axis, stride in enumerate(tensor.stride()):
        if stride == 0 and tensor.size(axis) > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def _same_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    # Compared as the widest integers that fit: torch compares element by element, so single bytes take 8 times longer,
    # and as floats NaN would differ from itself.
    if a.numel() == 0:
        return True
    item = a.element_size()
    for width, dtype in ((8, torch.int64), (4, torch.int32), (2, torch.int16), (1, torch.uint8)):
        if _viewable(a, item, width) and _viewable(b, item, width):
            return torch.equal(a.view(dtype), b.view(dtype))
    return torch.equal(a, b)


def _viewable(tensor: torch.Tensor, item: int, width: int) -> bool:
    if item == width:
        return True
    if item > width or tensor.dim() == 0:
        return False
    per = width // item
    strides = tensor.stride()
    return (strides[-1] == 1 and tensor.size(-1) % per == 0 and tensor.storage_offset() % per == 0 and
            all(stride % per == 0 for stride in strides[:-1]))


class ContentCache:
    """Remembers values made from tensors, found again by the tensors' contents.

    Neither the identity of a tensor nor its version counter decides: addresses come back, tensors made in inference
    mode have no version, and writes through numpy do not change it. So tensors are compared with kept copies at every
    use, which reads both once. Values of tensors above `max_bytes_each` (broadcast axes counted once) are not kept, but
    made anew at every use. Least recently used values leave when there are more than `max_values` or their copies take
    more than `max_bytes`. Safe to use from several threads.
    """

    def __init__(self, max_values: int, max_bytes: int, max_bytes_each: int):
        self._max_values = max_values
        self._max_bytes = max_bytes
        self._max_bytes_each = max_bytes_each
        self._lock = threading.Lock()
        # By key, types and shapes; both the keys and the values of one key have the least recently used first.
        self._kept: OrderedDict[Hashable, list[_Entry]] = OrderedDict()
        self._values = 0
        self._bytes = 0
        self.made = 0  # values made so far

    def get(self, key: Hashable, tensors: Sequence[torch.Tensor], make: Callable[[list[torch.Tensor]], Any]) -> Any:
        """The value of these contents under this key; where none is kept it is made by `make(tensors)`.

        `make` gets tensors that are equal in all but address and strides, with the same axes broadcast.
        """
        planes = [one_plane(tensor.detach()) for tensor in tensors]
        if sum(plane.nbytes for plane in planes) > self._max_bytes_each:
            with self._lock:
                self.made += 1
            return make(list(tensors))
        if planes:
            key = (key, *((tensor.dtype, tensor.shape, plane.shape) for tensor, plane in zip(tensors, planes)))
        for entry in reversed(self._kept.get(key, ())):  # lists are replaced, never changed
            if all(map(_same_bytes, planes, entry.copies)):
                self._used(key, entry)
                return entry.value
        # Copies outlive the call and are read in any mode, so they are ordinary tensors.
        with torch.inference_mode(False):
            copies = [plane.clone(memory_format=torch.contiguous_format) for plane in planes]
        entry = _Entry(copies, make([copy.expand(tensor.shape) for copy, tensor in zip(copies, tensors)]))
        with self._lock:
            self.made += 1
            self._kept[key] = [*self._kept.get(key, ()), entry]
            self._kept.move_to_end(key)
            self._count(entry, 1)
            while self._values > self._max_values or (self._bytes > self._max_bytes and self._values > 1):
                self._drop_oldest()
        return entry.value

    def _used(self, key: Hashable, entry: "_Entry") -> None:
        with self._lock:
            entries = self._kept.get(key, [])
            if entry in entries:  # else it left meanwhile
                if entries[-1] is not entry:
                    self._kept[key] = [*(other for other in entries if other is not entry), entry]
                self._kept.move_to_end(key)

    def _drop_oldest(self) -> None:
        key, (oldest, *others) = next(iter(self._kept.items()))
        if others:
            self._kept[key] = others
        else:
            del self._kept[key]
        self._count(oldest, -1)

    def _count(self, entry: "_Entry", sign: int) -> None:
        self._values += sign
        self._bytes += sign * sum(copy.nbytes for copy in entry.copies)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._kept.clear()
            self._values = self._bytes = 0

    def __len__(self) -> int:
        return self._values


class _Entry:
    def __init__(self, copies: list[torch.Tensor], value: Any):
        self.copies = copies
        self.value = value

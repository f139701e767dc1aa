"""Memory whose pages are there before somebody waits for them.

1. The first touch of a page stops who touches it: on a virtual machine that has never used the page before, for some
   three milliseconds per mebibyte. A hash table is touched all over within its first thousand entries.
2. So what is large is mapped by a thread, which touches it, before it is needed; large pages are asked for, which make
   entries far apart cheaper to find.
"""

from __future__ import annotations

import ctypes
import mmap
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_MADV_HUGEPAGE = 14
_MADV_POPULATE_WRITE = 23
_LARGE_PAGE = 2 << 20
_SMALL = 1 << 20
"""Bytes up to which the heap will do, which has kept memory from before."""


class Mapped(NamedTuple):
    """Memory, and where it begins. The array keeps it mapped."""

    array: np.ndarray[Any, np.dtype[np.uint8]]
    address: int


def map_memory(size: int) -> Mapped | None:
    """Map memory whose pages are there, at a multiple of a large page if it is as large; None if there is none left."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        mapping = mmap.mmap(-1, size + _LARGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        return None
    whole = np.frombuffer(mapping, np.uint8)
    skip = -whole.ctypes.data % _LARGE_PAGE
    array = whole[skip : skip + size]
    address = array.ctypes.data
    start, length = ctypes.c_void_p(address), ctypes.c_size_t(size)
    libc.madvise(start, length, _MADV_HUGEPAGE)
    # By way of ctypes the interpreter's lock is free meanwhile, which mmap's MAP_POPULATE would hold.
    if libc.madvise(start, length, _MADV_POPULATE_WRITE):
        libc.memset(start, 0, length)
    return Mapped(array, address)


class Ahead:
    """The next of an owner's tables, of zeros, which a thread makes while the owner has no need of it.

    >>> ahead = Ahead()
    >>> ahead.order((1 << 20, 2), np.int64)
    >>> ahead.take((1 << 20, 2), np.int64).shape
    (1048576, 2)
    """

    def __init__(self) -> None:
        self._ordered: tuple[tuple[int, ...], Any] | None = None
        self._made: Future[npt.NDArray[Any]] | None = None

    def order(self, shape: tuple[int, ...], dtype: Any) -> None:
        """A table like this will be needed soon."""
        if self._ordered != (shape, dtype) and _bytes(shape, dtype) > _SMALL:
            self._ordered, self._made = (shape, dtype), _threads().submit(_mapped_zeros, shape, dtype)

    def take(self, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
        """It is needed now, whether it was ordered or not."""
        made = self._made if self._ordered == (shape, dtype) else None
        self._ordered = self._made = None
        return np.zeros(shape, dtype) if made is None else made.result()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "tables")


def _mapped_zeros(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    mapped = map_memory(_bytes(shape, dtype))
    return np.zeros(shape, dtype) if mapped is None else mapped.array.view(dtype).reshape(shape)


def _bytes(shape: tuple[int, ...], dtype: Any) -> int:
    return prod(shape) * int(np.dtype(dtype).itemsize)

"""Memory that is being filled with columns, and what gives it out.

1. Columns in an area begin at multiples of 64 bytes, as Arrow likes it and as processors do.
2. An Arrow buffer of a column keeps the area's memory, whoever holds the buffer; when the last is gone, so is the
   memory, or it goes back to where it came from. Whoever fills a column has it as a numpy array, which keeps nothing:
   it is not to be used when the columns have been handed on.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa

ALIGNMENT = 64


def aligned(size: int) -> int:
    """The least multiple of 64 from `size` on.

    >>> aligned(0), aligned(1), aligned(64), aligned(65)
    (0, 64, 64, 128)
    """
    return (size + ALIGNMENT - 1) & -ALIGNMENT


class Area:
    """`memory` are its bytes, which begin at `address`; `keeper` is what buffers keep alive."""

    __slots__ = ("_at", "address", "keeper", "memory", "views")

    def __init__(
        self,
        memory: np.ndarray[Any, np.dtype[np.uint8]],
        address: int,
        keeper: Any,
        views: dict[Any, Any] | None = None,
    ) -> None:
        self.memory = memory
        self.address = address
        self.keeper = keeper
        self.views: dict[Any, Any] = {} if views is None else views
        """What others made of this memory, by a key of theirs: memory that goes round keeps them."""
        self._at = 0

    def column(self, dtype: Any, count: int) -> tuple[np.ndarray[Any, Any], pa.Buffer]:
        """The next `count` values: to be filled, and as others will read them. What is in there is not defined."""
        size = count * np.dtype(dtype).itemsize
        start = self._at
        self._at = aligned(start + size)
        values = self.memory[start : start + size].view(dtype)
        return values, pa.foreign_buffer(self.address + start, size, self.keeper)


class Memory(Protocol):
    """Gives out areas. `size` is the sum of the columns' sizes, each `aligned`."""

    def area(self, size: int) -> Area: ...


class Heap:
    """Memory from Arrow's allocator, anew each time."""

    def area(self, size: int) -> Area:
        buffer = pa.allocate_buffer(size)
        return Area(np.frombuffer(buffer, np.uint8), buffer.address, buffer)


HEAP = Heap()

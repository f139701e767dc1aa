"""How a node's process gets memory: from one heap that it keeps.

Batches are some megabytes each and live for a millisecond. An allocator that gives such memory back to the operating
system faults it in again, page by page, for the next batch: on a virtual machine that was seen to take 20 ms for 4 MiB,
forty times what filling it takes. What the heap has grown to is bounded by the room in the channels.
"""

from __future__ import annotations

import ctypes

import pyarrow as pa

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST_MMAP_THRESHOLD = 32 << 20
_NEVER_TRIM = (1 << 31) - 1


def keep_memory() -> bool:
    """Have Arrow and numpy allocate from the C library's heap, and have that keep what it freed; whether it could."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    kept = mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD) and mallopt(_M_TRIM_THRESHOLD, _NEVER_TRIM)
    pa.set_memory_pool(pa.system_memory_pool())
    return bool(kept)

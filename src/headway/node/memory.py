"""A node's memory for rows in flight: blocks of mapped memory that go round.

1. Memory is mapped by a thread of its own and its pages are there before it is given out, so that no operator waits for
   the operating system. While a block is not there yet, the heap helps out.
2. A block goes back to the pool when the last Arrow buffer over it is dropped, by whichever thread drops it; the loop
   finds it when it next takes one, or before it rests. The pool itself is the loop's alone.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import Any

import numpy as np

from headway.mapped import Mapped, map_memory
from headway.memory import HEAP, Account, Area, ChunkPool, Part
from headway.memory.chunks import BLOCKS_PER_CHUNK


class _Lease:
    """A block in use; buffers keep it."""

    __slots__ = ("_back", "_block", "account")

    def __init__(self, block: Part, account: Account, back: deque[tuple[Part, Account]]) -> None:
        self._block = block
        self._back = back
        self.account = account

    def __del__(self) -> None:
        self._back.append((self._block, self.account))


def _view(block: Part) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], int, dict[Any, Any]]:
    """Its memory, where that begins, and what others will make of it."""
    mapped: Mapped = block.chunk.memory
    return mapped.array[block.offset : block.offset + block.chunk.block_size], mapped.address + block.offset, {}


class NodeMemory:
    """See the module."""

    def __init__(self, budget: int, blocks_per_chunk: int = BLOCKS_PER_CHUNK) -> None:
        self.pool = ChunkPool(budget, blocks_per_chunk)
        self._back: deque[tuple[Part, Account]] = deque()
        self._made: deque[tuple[int, Mapped | None]] = deque()
        self._orders: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def area(self, size: int, account: Account) -> Area:
        """Memory for columns of a query."""
        if self._back or self._made:
            self.tidy()
        block = self.pool.take(size)
        if self.pool.requests:
            self._order()
        if block is None:
            return HEAP.area(size)
        account.blocks += block.chunk.block_size
        if block.known is None:
            block.known = _view(block)
        memory, address, views = block.known
        return Area(memory, address, _Lease(block, account, self._back), views)

    def tidy(self) -> None:
        """Take back what was freed, and take in what was mapped. Sources that waited for blocks of theirs may read."""
        back, made = self._back, self._made
        ledger = None
        while back:
            block, account = back.popleft()
            account.blocks -= block.chunk.block_size
            self.pool.give(block)
            ledger = account.ledger
        while made:
            self.pool.add(*made.popleft())
        if ledger is not None:
            ledger.retry()

    def _order(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._map, name="memory", daemon=True)
            self._thread.start()
        for kind in self.pool.requests:
            self._orders.put(kind)
        self.pool.requests.clear()

    def _map(self) -> None:
        """In the thread."""
        while (kind := self._orders.get()) is not None:
            self._made.append((kind, map_memory(self.pool.chunk_size(kind))))

    def close(self) -> None:
        self._orders.put(None)


class QueryMemory:
    """The blocks, on one query's account."""

    def __init__(self, blocks: NodeMemory, account: Account) -> None:
        self._blocks = blocks
        self._account = account

    def area(self, size: int) -> Area:
        return self._blocks.area(size, self._account)

"""Blocks of memory, by size, and the chunks they are parts of: which are free, and which chunks are wanted.

1. A block holds the columns of one batch. Its size is a power of two, from `SMALLEST` to `LARGEST`; what is larger is
   nothing for a pool. (Enjima has blocks of so many events for each operator. Here all operators of a node share them:
   a thousand queries that hardly do anything take no memory, and a block that was just freed, still in the processor's
   cache, goes to whoever comes next.)
2. A chunk is contiguous memory for blocks of one size. The first block of a size asks for two chunks, and whoever takes
   from the last free chunk asks for the next, so that it is there before it is needed. Whoever fills the requests calls
   `add`; until then `take` has nothing to give.
3. Chunks never take more than the budget. Where another would, chunks of other sizes that nobody uses make room.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

SMALLEST = 16 << 10
LARGEST = 16 << 20
BLOCKS_PER_CHUNK = 4
SMALLEST_CHUNK = 1 << 20


@dataclass(slots=True, eq=False)
class Chunk:
    """Contiguous memory, cut into blocks. `memory` is what whoever filled the request made of it."""

    block_size: int
    size: int
    memory: Any
    used: int = 0
    """Blocks that are not free."""


@dataclass(slots=True, eq=False)
class Part:
    """The part of a chunk that is a block."""

    chunk: Chunk
    offset: int
    known: Any = None
    """For whoever made the chunk's memory."""


def block_size(size: int) -> int:
    """The least size of a block that holds so many bytes.

    >>> block_size(1), block_size(16384), block_size(100_000)
    (16384, 16384, 131072)
    """
    return SMALLEST if size <= SMALLEST else 1 << (size - 1).bit_length()


@dataclass
class ChunkPool:
    """See the module. All sizes in bytes."""

    budget: int
    blocks_per_chunk: int = BLOCKS_PER_CHUNK
    mapped: int = 0
    """Of all chunks that are there."""
    used: int = 0
    """Of the blocks that are not free."""
    taken: int = 0
    """How often a block was given out, and how often not: there was none yet, or none is as large."""
    missed: int = 0
    requests: list[int] = field(default_factory=list)
    """The block sizes of the chunks that are wanted, for `add`; whoever fills them takes them out."""

    def __post_init__(self) -> None:
        self._free: defaultdict[int, list[Part]] = defaultdict(list)
        """By size; the last is the one freed last."""
        self._asked: defaultdict[int, int] = defaultdict(int)
        """By size, the chunks that are wanted and not there."""
        self._chunks: defaultdict[int, list[Chunk]] = defaultdict(list)

    def chunk_size(self, kind: int) -> int:
        """Of a chunk for blocks of a size."""
        return max(self.blocks_per_chunk * kind, SMALLEST_CHUNK)

    def take(self, size: int) -> Part | None:
        """A block for so many bytes, or None: then take memory from elsewhere, this once."""
        kind = block_size(size)
        if kind > LARGEST:
            self.missed += 1
            return None
        free = self._free[kind]
        block = free.pop() if free else None
        if len(free) * kind < self.chunk_size(kind) and not self._asked[kind]:
            self._ask(kind)
        if block is None:
            self.missed += 1
            return None
        block.chunk.used += 1
        self.used += kind
        self.taken += 1
        return block

    def give(self, block: Part) -> None:
        """A block is free again."""
        chunk = block.chunk
        chunk.used -= 1
        self.used -= chunk.block_size
        self._free[chunk.block_size].append(block)

    def add(self, kind: int, memory: Any) -> None:
        """A chunk that was wanted is there; None: it could not be made."""
        self._asked[kind] -= 1
        if memory is None:
            return
        chunk = Chunk(kind, self.chunk_size(kind), memory)
        self._chunks[kind].append(chunk)
        self.mapped += chunk.size
        # The first block goes out first.
        self._free[kind] += [Part(chunk, offset) for offset in range(chunk.size - kind, -1, -kind)]

    def _ask(self, kind: int) -> None:
        for _ in range(1 if self._chunks[kind] else 2):
            coming = sum(count * self.chunk_size(size) for size, count in self._asked.items())
            over = self.mapped + coming + self.chunk_size(kind) - self.budget
            if over > 0 and not self._make_room(kind, over):
                return
            self._asked[kind] += 1
            self.requests.append(kind)

    def _make_room(self, kind: int, over: int) -> bool:
        """Let go of chunks of other sizes that nobody uses; whether that was enough."""
        idle = [chunk for size, chunks in self._chunks.items() if size != kind for chunk in chunks if not chunk.used]
        if sum(chunk.size for chunk in idle) < over:
            return False
        while over > 0:
            chunk = idle.pop()
            over -= chunk.size
            self.mapped -= chunk.size
            self._chunks[chunk.block_size].remove(chunk)
            free = self._free[chunk.block_size]
            free[:] = [block for block in free if block.chunk is not chunk]
        return True

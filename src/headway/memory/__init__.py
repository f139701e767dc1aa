"""Memory for rows in flight: who may have how much, and which block is free. Pure: no clock, no thread, no mapping."""

from headway.memory.accounts import Account, Ledger
from headway.memory.area import HEAP, Area, Memory, aligned
from headway.memory.blocks import Block, Layout, Rows, record_batch, row_bytes
from headway.memory.chunks import Chunk, ChunkPool, Part
from headway.memory.settings import MemorySettings, memory_settings

__all__ = [
    "HEAP",
    "Account",
    "Area",
    "Block",
    "Chunk",
    "ChunkPool",
    "Layout",
    "Ledger",
    "Memory",
    "MemorySettings",
    "Part",
    "Rows",
    "aligned",
    "memory_settings",
    "record_batch",
    "row_bytes",
]

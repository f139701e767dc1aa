"""Blocks that sources fill with columns, and compiled kernels read by their addresses.

1. A block is memory laid out as columns of fixed width without nulls. Its memory goes back when nobody refers any more
   to the block, or to the Arrow columns that were made of it.
2. Arrow columns are made when somebody asks for them: a compiled kernel does without.
3. All blocks are of one size, about that of the second-level cache of a common core: the memory that came back last is
   filled next, and is still there. (With half of it, one query could not follow 120 M rows/s that it follows now.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from headway.memory.area import Area, Memory

BLOCK_BYTES = 1 << 20
_ROWS = 64
"""Capacities are multiples of it, so that every column begins at a cache line."""
SPARSE = 8
"""A block is sparse if it could hold so many times as many rows."""
Columns: TypeAlias = Sequence[np.ndarray[Any, Any]]
_SHAPES: dict[tuple[tuple[str, ...], int], int] = {}
"""Numbers of all layouts that differ."""


class Layout:
    """Where the columns of a schema lie in a block of `size`, or of the size that holds `rows`."""

    def __init__(self, schema: pa.Schema, size: int = BLOCK_BYTES, rows: int | None = None) -> None:
        self.schema = schema
        self.widths = [_width(type_) for type_ in schema.types]
        self.row = max(1, sum(self.widths))
        self.size = size if rows is None else self.row * -(-rows // _ROWS) * _ROWS
        self.capacity = self.size // (self.row * _ROWS) * _ROWS
        """Rows of a block; 0: a row is too wide."""
        self.offsets = [sum(self.widths[:i]) * self.capacity for i in range(len(self.widths))]
        self._even = all(width == 8 for width in self.widths)
        self._shape = _SHAPES.setdefault((tuple(map(str, schema.types)), self.capacity), len(_SHAPES))
        self._smaller: dict[int, Layout] = {}

    @staticmethod
    def fits(schema: pa.Schema) -> bool:
        """Whether blocks can hold rows of this schema."""
        return all(_fixed(type_) for type_ in schema.types) and Layout(schema).capacity > 0

    def smaller(self, rows: int) -> Layout:
        """One for so many rows, or up to twice as many."""
        capacity = 1 << max(rows - 1, _ROWS - 1).bit_length()
        found = self._smaller.get(capacity)
        if found is None:
            found = self._smaller[capacity] = Layout(self.schema, rows=capacity)
        return found

    def block(self, memory: Memory) -> Block:
        return Block(self, memory.area(self.size))

    def columns(self, area: Area) -> Columns:
        """The columns as arrays; one array of two dimensions where all are 64 bits wide, as integers."""
        found: Columns | None = area.views.get(self._shape)
        if found is None:
            found = area.views[self._shape] = self._columns(area.memory)
        return found

    def _columns(self, memory: np.ndarray[Any, np.dtype[np.uint8]]) -> Columns:
        if self._even:
            used = memory[: self.row * self.capacity]
            return used.view(np.int64).reshape(len(self.widths), self.capacity)  # type: ignore[return-value]
        return [
            memory[offset : offset + width * self.capacity].view(_dtype(type_, width))
            for offset, width, type_ in zip(self.offsets, self.widths, self.schema.types, strict=True)
        ]


def _fixed(type_: pa.DataType) -> bool:
    return pa.types.is_primitive(type_) and not pa.types.is_boolean(type_)


def _dtype(type_: pa.DataType, width: int) -> np.dtype[Any]:
    return np.dtype(f"f{width}" if pa.types.is_floating(type_) else f"i{width}")


def _width(type_: pa.DataType) -> int:
    return int(type_.bit_width) // 8


class Block:
    """See the module. The one who fills it sets `num_rows`."""

    __slots__ = ("_area", "columns", "layout", "num_rows", "shown")

    def __init__(self, layout: Layout, area: Area) -> None:
        self._area = area
        self.layout = layout
        self.columns = layout.columns(area)
        self.num_rows = 0
        self.shown = False
        """True iff Arrow columns were made of it, which somebody may have kept."""

    @property
    def nbytes(self) -> int:
        return self.num_rows * self.layout.row

    def packed(self, memory: Memory) -> Block:
        """The same rows, in a smaller block if they leave most of this one empty: it is free for others then."""
        if self.num_rows * SPARSE > self.layout.capacity:
            return self
        block = self.layout.smaller(self.num_rows).block(memory)
        block.num_rows = self.num_rows
        for column, other in zip(self.columns, block.columns, strict=True):
            other[: self.num_rows] = column[: self.num_rows]
        return block

    def address(self, column: int) -> int:
        return self._area.address + self.layout.offsets[column]

    def record_batch(self) -> pa.RecordBatch:
        """The rows as Arrow columns, without a copy."""
        self.shown = True
        rows, layout, keeper = self.num_rows, self.layout, self._area.keeper
        arrays = [
            pa.Array.from_buffers(type_, rows, [None, pa.foreign_buffer(self.address(i), rows * width, keeper)], 0)
            for i, (type_, width) in enumerate(zip(layout.schema.types, layout.widths, strict=True))
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=layout.schema)


Rows: TypeAlias = pa.RecordBatch | Block


def record_batch(rows: Rows) -> pa.RecordBatch:
    """Rows as Arrow columns."""
    return rows.record_batch() if isinstance(rows, Block) else rows


def row_bytes(fields: Iterable[pa.Field]) -> float:
    """What a row takes if all fields are of fixed width, else 0.

    >>> row_bytes(pa.schema({"a": pa.int32(), "b": pa.struct({"c": pa.bool_()})}))
    4.125
    """
    widths = []
    for field in fields:
        if pa.types.is_struct(field.type):
            widths.append(row_bytes(field.type))
        else:
            widths.append(field.type.bit_width / 8 if pa.types.is_primitive(field.type) else 0.0)
    return sum(widths) if all(widths) else 0.0

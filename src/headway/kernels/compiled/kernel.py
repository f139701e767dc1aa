"""A compiled chain: the generated functions, their memory, and what a node calls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.types import arrow_type
from headway.kernels.api import Chain
from headway.kernels.compiled import layout
from headway.kernels.compiled.cells import CellTable
from headway.kernels.compiled.emitter import SUM_OVERFLOW
from headway.kernels.compiled.inputs import inputs_of
from headway.kernels.compiled.output import Columns
from headway.kernels.compiled.shape import Shape
from headway.kernels.compiled.steps import Variant
from headway.kernels.compiled.values import is_fixed
from headway.kernels.expressions.registry import RowError
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.native import store
from headway.kernels.native.assemble import Function
from headway.memory import HEAP, Block, Memory, Rows, record_batch


class _Program:
    """One variant, ready to be called."""

    def __init__(self, function: Function, variant: Variant) -> None:
        self.function = function
        self.output = variant.output
        parameters = variant.emitter.parameters
        integers = np.array([*parameters.integers, 0], np.int64)
        reals = np.array([*parameters.floats, 0.0], np.float64)
        self.integers, self.reals = integers.ctypes.data, reals.ctypes.data
        self._alive = [integers, reals, *parameters.arrays]
        """What the function has addresses of."""


class CompiledChain:
    """The kernel of a chain. See `api.ChainKernel`."""

    def __init__(self, shape: Shape, functions: dict[str, Function]) -> None:
        self.memory: Memory = HEAP
        """What rows that come out are written into."""
        self._chain: Chain = shape.chain
        self._with_nulls = _Program(functions["with_nulls"], shape.with_nulls)
        self._without_nulls = _Program(functions["without_nulls"], shape.without_nulls)
        inputs = inputs_of(self._chain.input.schema)
        self._inputs = len(inputs)
        self._columns = [(inputs[i], layout.column_slot(i), _width(kind)) for i, kind in sorted(shape.used.items())]
        self._fan_out = shape.fan_out
        self._array = np.zeros(shape.header_size, np.int64)
        self._header = memoryview(self._array)  # type: ignore[arg-type]
        self._address = self._array.ctypes.data
        self._selection = np.empty(layout.BLOCK, np.int32)
        self._header[layout.SELECTION] = self._selection.ctypes.data
        self._hashes = np.empty(layout.PART, np.int64)
        self._header[layout.HASHES] = self._hashes.ctypes.data
        self._all_valid = np.zeros(0, np.uint8)
        self._cells = self._make_cells(shape)
        # None until a state was restored: groups that another kernel found are kept as they came.
        self._restored: InterpretedChain | None = None

    def _make_cells(self, shape: Shape) -> CellTable | None:
        plan = shape.with_nulls.aggregation
        if plan is None or self._chain.aggregate is None:
            return None
        return CellTable(self._chain.aggregate, plan, self._header)

    def process(self, rows: Rows) -> tuple[pa.RecordBatch | None, int | None]:
        count = rows.num_rows
        if count == 0:
            return None, None
        header = self._header
        header[layout.ROWS], header[layout.FROM], header[layout.TIME] = count, 0, layout.NO_TIME
        program = self._with_nulls if self._point_to(rows) else self._without_nulls
        out = None
        if self._cells is not None:
            self._aggregate(program, rows, self._cells)
        else:
            assert program.output is not None
            memory = Columns(program.output, count * self._fan_out, self._inputs, header, self.memory)
            self._run(program, rows)
            if header[layout.OUT]:
                out = memory.batch(header[layout.OUT], record_batch(rows))
        time = header[layout.TIME]
        return out, None if time == layout.NO_TIME else time

    def _point_to(self, rows: Rows) -> bool:
        """Put the addresses of the columns into the header; whether any of them has nulls."""
        if isinstance(rows, Block):
            self._point_to_block(rows)
            return False
        return self._point_to_batch(rows)

    def _point_to_batch(self, batch: pa.RecordBatch) -> bool:
        header, nulls = self._header, False
        for read, slot, width in self._columns:
            column = read.of(batch)
            offset = column.offset
            validity, data = column.buffers()[:2]
            # Bits cannot be addressed, so columns of them keep their offset; so does validity.
            header[slot] = data.address + offset * width if data else 0
            header[slot + 2] = offset
            header[slot + 1] = 0 if validity is None else validity.address
            nulls |= validity is not None and column.null_count > 0
        if nulls:
            self._fill_validity(batch)
        return nulls

    def _point_to_block(self, block: Block) -> None:
        header = self._header
        for read, slot, _ in self._columns:
            header[slot], header[slot + 1], header[slot + 2] = block.address(read.path[0]), 0, 0

    def _fill_validity(self, batch: pa.RecordBatch) -> None:
        """Columns that have no validity bitmap get one that says all is valid."""
        for read, slot, _ in self._columns:
            if self._header[slot + 1] == 0:
                bits = read.of(batch).offset + batch.num_rows
                if len(self._all_valid) * 8 < bits:
                    self._all_valid = np.full(bits // 8 + 1, 255, np.uint8)
        for _, slot, _ in self._columns:
            if self._header[slot + 1] == 0:
                self._header[slot + 1] = self._all_valid.ctypes.data

    def _aggregate(self, program: _Program, rows: Rows, cells: CellTable) -> None:
        while self._run(program, rows) == layout.FULL:
            cells.grow()
        cells.examine()

    def _run(self, program: _Program, rows: Rows) -> int:
        code = program.function(self._address, program.integers, program.reals)
        if code > 0:
            self._raise(code, rows)
        return code

    def _raise(self, code: int, rows: Rows) -> None:
        """Tell what is wrong with the rows; the interpreted tier knows how to say it."""
        InterpretedChain(self._chain).process(rows)
        if code == SUM_OVERFLOW:
            raise RowError("[ARITHMETIC_OVERFLOW] long overflow in sum")
        raise RowError("[ARITHMETIC_OVERFLOW] a row of the batch cannot be computed")

    def observed(self) -> dict[str, pa.RecordBatch]:
        """A chain that observes has no compiled form."""
        return {}

    def flush(self, watermark: int | None) -> pa.RecordBatch | None:
        parts = self.flush_to(watermark, 1)
        return None if parts is None else parts[0]

    def flush_to(self, watermark: int | None, owners: int) -> list[pa.RecordBatch] | None:
        taken = None if self._cells is None else self._cells.take(watermark, owners)
        restored = None if self._restored is None else self._restored.flush_to(watermark, owners)
        if taken is None or restored is None:
            return taken or restored
        return [pa.concat_batches(both) for both in zip(taken, restored, strict=True)]

    def snapshot(self) -> pa.Table | None:
        if self._cells is None:
            return None
        held = pa.Table.from_batches([self._cells.partials()])
        restored = self._restored.snapshot() if self._restored else None
        return held if restored is None else pa.concat_tables([held, restored])

    def restore(self, state: pa.Table) -> None:
        if self._restored is None:
            self._restored = InterpretedChain(self._chain)
        self._restored.restore(state)

    def holds_more_than(self, most: int) -> bool:
        held = self._cells.groups if self._cells else 0
        return held > most or (self._restored is not None and self._restored.holds_more_than(most - held))

    @property
    def groups(self) -> int:
        held = self._cells.groups if self._cells else 0
        return held + (self._restored.groups if self._restored else 0)

    @property
    def bytes(self) -> int:
        held = self._cells.bytes if self._cells else 0
        return held + (self._restored.bytes if self._restored else 0)


def _width(kind: T.DataType) -> int:
    """Bytes per value, 0 for bits and for types of which only validity is read."""
    return int(arrow_type(kind).bit_width) // 8 if is_fixed(kind) else 0


def build(shape: Shape) -> CompiledChain:
    """The kernel of a shape, its functions loaded, or compiled if they are not in the cache."""
    return CompiledChain(shape, store.load(store.source_path(shape.key, shape.source)))

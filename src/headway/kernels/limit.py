"""The first rows that ever come."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import Limit
from headway.kernels.api import KeyedKernel, Outcome

_STATE = pa.schema([pa.field("given", pa.int64())])


class FirstRows(KeyedKernel):
    """The kernel of a `Limit`; its state is how many rows it has given."""

    def __init__(self, relation: Limit) -> None:
        self._count = relation.count
        self._given = 0

    def process(self, input: int, batch: pa.RecordBatch, watermark: int | None) -> Outcome:
        rows = batch.slice(0, self._count - self._given)
        self._given += rows.num_rows
        return Outcome(rows, updated=int(rows.num_rows > 0))

    def advance(self, watermark: int) -> Outcome:
        return Outcome()

    def snapshot(self) -> pa.Table:
        return pa.Table.from_arrays([pa.array([self._given])], schema=_STATE)

    def restore(self, state: pa.Table) -> None:
        self._given += pc.sum(state.column(0)).as_py() or 0

    @property
    def rows(self) -> int:
        return 1

    @property
    def bytes(self) -> int:
        return 8

"""approx_count_distinct, by HyperLogLog++. Rows are held as observations, merged ones as registers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headway.dataflow.graph import AggCall
from headway.kernels import hll
from headway.kernels.aggregates.base import Columns, Function, Grouping


class Distinct(Function):
    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.p: int = self.options["p"]

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (pa.binary(),)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [hll.observations(args[0], self.p)]

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        merge = hll.merge_observations if columns[0].type == pa.int32() else hll.merge_registers
        return [merge(columns[0], grouping.rows, grouping.offsets, self.p)]

    def finish(self, columns: Columns) -> pa.Array:
        registers = hll.from_array(columns[0], self.p)
        raw, bias = np.asarray(self.options["raw"]), np.asarray(self.options["bias"])
        return pa.array(hll.estimates(registers, self.options["thresholds"], raw, bias))

"""Rows made of the structs in an array of each row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import Generate
from headway.kernels.expressions.registry import evaluate
from headway.kernels.lists import lists_of
from headway.kernels.partials import batch_of


def generated(relation: Generate, schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that `relation` makes of `batch`."""
    found = lists_of(evaluate(relation.rows, batch))
    lengths = np.maximum(found.lengths, 1) if relation.outer else found.lengths
    parents = np.repeat(np.arange(len(lengths)), lengths)
    there = np.repeat(found.lengths > 0, lengths)
    places = np.cumsum(there) - 1
    structs = found.values.take(pa.array(np.maximum(places, 0), mask=~there))
    rows = pa.array(parents)
    columns = [batch.column(i).take(rows) for i in relation.kept]
    columns += [pc.struct_field(structs, [i]) for i in range(structs.type.num_fields)]
    return batch_of(columns, schema, len(parents))

"""Evaluation of structs and of the normal form of floating-point numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.registry import evaluate, evaluates, evaluates_lazily


@evaluates("GetStructField")
def _field(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    # Not `.field()`: that one forgets where the struct itself is null.
    return pc.struct_field(args[0], [call.option("ordinal")])


@evaluates_lazily("CreateNamedStruct")
def _struct(call: Call, batch: pa.RecordBatch) -> pa.Array:
    fields = list(arrow_type(call.type))
    values = [evaluate(arg, batch) for arg in call.args]
    if not fields:
        return pa.StructArray.from_buffers(arrow_type(call.type), batch.num_rows, [None])
    return pa.StructArray.from_arrays(values, fields=fields)


@evaluates("NormalizeNaNAndZero")
def _normalized(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    # x + 0.0 turns -0.0 into 0.0 and leaves every other value, and one NaN replaces all.
    positive = pc.add(args[0], pa.scalar(0.0, args[0].type))
    return pc.if_else(pc.is_nan(positive), pa.scalar(np.nan, positive.type), positive)

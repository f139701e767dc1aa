"""Evaluation of time windows, and of timestamps as numbers of microseconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.registry import evaluates


@evaluates("TimeWindow")
def _window(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    """A null time has null bounds, as in Spark, where a filter then drops the row."""
    time, struct = args[0], arrow_type(call.type)
    slide, offset = call.option("slide"), call.option("offset")
    us = np.asarray(time.cast(pa.int64()).fill_null(0))
    start = us - np.mod(us - offset, slide) - call.option("index") * slide
    mask = np.asarray(time.is_null()) if time.null_count else None
    bounds = (start, start + call.option("duration"))
    columns = [pa.array(bound, pa.int64(), mask=mask).cast(struct.field(0).type) for bound in bounds]
    return pa.StructArray.from_arrays(columns, fields=list(struct))


@evaluates("SessionWindow")
def _session(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return pa.StructArray.from_arrays(list(args), fields=list(arrow_type(call.type)))


@evaluates("PreciseTimestampConversion")
def _conversion(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return args[0].cast(arrow_type(call.type))

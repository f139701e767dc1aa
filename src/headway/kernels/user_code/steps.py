"""Steps of a chain that call functions of the user's.

1. A function gets the batches as they come, no longer than `spark.sql.execution.arrow.maxRecordsPerBatch`.
2. UDFs of iterators are called once for all batches, unless they hold rows back: see `calls`. Functions that make as
   many rows as they like (`mapInPandas`, …) are called once per batch that comes, with an iterator of its pieces: of
   them nobody knows what they hold back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.conversion import ArrowBatchTransformer, ArrowTableToRowsConversion
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.util import PythonEvalType

from headway.dataflow.types import arrow_schema, arrow_type
from headway.dataflow.user_code import EvalPython, MapBatches, UserFunction
from headway.errors import HeadwayError
from headway.kernels.expressions.registry import evaluate
from headway.kernels.partials import batch_of
from headway.kernels.user_code.calls import LongCall
from headway.kernels.user_code.pickled import converter
from headway.kernels.user_code.worker import Batches, Settings, load, load_rowwise

Step = Callable[[pa.RecordBatch], pa.RecordBatch]
Compute = Callable[[Batches], Iterable[pa.RecordBatch]]
_OF_ITERATORS = (PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF, PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF)


def eval_step(relation: EvalPython) -> Step:
    """Appends the results of functions to the columns."""
    settings = Settings(relation.settings)
    args = tuple(dict.fromkeys(arg for function in relation.functions for arg in function.args))
    offsets = [[args.index(arg) for arg in function.args] for function in relation.functions]
    input_type = T.StructType([T.StructField(f"_{i}", arg.type) for i, arg in enumerate(args)])
    sent = pa.schema([pa.field(f.name, settings.sent_type(f.dataType)) for f in input_type.fields])
    if relation.eval_type == PythonEvalType.SQL_BATCHED_UDF:
        loaded = _rowwise(relation.functions, offsets, settings, input_type)
    else:
        loaded = load(relation.eval_type, relation.functions, offsets, settings, input_type)
    compute: Compute = LongCall(loaded).give if relation.eval_type in _OF_ITERATORS else loaded
    schema = arrow_schema(relation.schema)

    def step(batch: pa.RecordBatch) -> pa.RecordBatch:
        given = _sent([evaluate(arg, batch) for arg in args], sent, batch.num_rows)
        made = _together(compute(settings.slices(given)))
        results = [_taken(column, schema.field(batch.num_columns + i).type) for i, column in enumerate(made.columns)]
        return pa.RecordBatch.from_arrays([*batch.columns, *results], schema=schema)

    return step


def map_step(relation: MapBatches) -> Step:
    """Rows made of batches by a function."""
    settings = Settings(relation.settings)
    below = relation.input.schema
    sent = pa.schema([pa.field(f.name, settings.sent_type(f.type)) for f in below])
    input_type = T.StructType([T.StructField("struct", T.StructType([T.StructField(f.name, f.type) for f in below]))])
    compute = load(relation.eval_type, [relation.function], [range(len(below))], settings, input_type)
    schema = arrow_schema(relation.schema)

    def step(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = ArrowBatchTransformer.wrap_struct(_sent(batch.columns, sent, batch.num_rows))
        made = [_unwrapped(relation, result, schema) for result in compute(settings.slices(rows))]
        return pa.concat_batches(made) if made else batch_of([pa.nulls(0, f.type) for f in schema], schema, 0)

    return step


def _unwrapped(relation: MapBatches, made: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = made.column(0).flatten()
    if relation.eval_type == PythonEvalType.SQL_MAP_ARROW_ITER_UDF:
        _check_types(relation, columns)
    taken = [_taken(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(taken, schema=schema)


def _check_types(relation: MapBatches, columns: list[pa.Array]) -> None:
    """PySpark leaves it to the JVM to see that a function of Arrow batches gives what it declared."""
    expected = [f.type.simpleString() for f in relation.schema]
    found = [from_arrow_type(column.type, prefer_timestamp_ntz=True).simpleString() for column in columns]
    if found != expected:
        raise HeadwayError(
            f"[ARROW_TYPE_MISMATCH] Invalid schema from mapInArrow(): expected {', '.join(expected)}, "
            f"got {', '.join(found)}: {relation.function.name} must give the columns that its schema declares"
        )


def _rowwise(
    functions: tuple[UserFunction, ...], offsets: list[list[int]], settings: Settings, input_type: T.StructType
) -> Callable[[Batches], Batches]:
    loaded = load_rowwise(functions, offsets, settings)
    into = [
        ArrowTableToRowsConversion._create_converter(f.dataType, binary_as_bytes=settings.runner.binary_as_bytes)
        for f in input_type.fields
    ]
    outputs = [(converter(f.type), arrow_type(f.type)) for f in functions]

    def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [list(map(convert, column.to_pylist())) for column, convert in zip(batch.columns, into, strict=True)]
        made = []
        for (taken, function), (convert, kind) in zip(loaded, outputs, strict=True):
            rows = zip(*(columns[at] for at in taken), strict=True) if taken else iter([()] * batch.num_rows)
            made.append(pa.array([convert(function(*row)) for row in rows], kind))
        return pa.RecordBatch.from_arrays(made, names=[f"_{i}" for i in range(len(made))])

    return lambda batches: map(compute, batches)


def _sent(columns: list[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    cast = [c if c.type == f.type else c.cast(f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def _taken(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


def _together(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    made = list(batches)
    return made[0] if len(made) == 1 else pa.concat_batches(made)

"""CSV text read into structs and written from them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.connectors.sinks.base import Options
from headway.connectors.sinks.formats.csv import CsvRows, Dialect
from headway.connectors.sinks.text_values import TextValues
from headway.connectors.sources.files.csv_reader import CsvReader
from headway.dataflow.expr import Call
from headway.dataflow.graph import Source
from headway.dataflow.types import Field, arrow_schema, arrow_type
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import only, valid

Args = Sequence[pa.Array]


@evaluates("CsvToStructs")
def _from_csv(call: Call, args: Args) -> pa.Array:
    assert isinstance(call.type, T.StructType)
    schema = tuple(Field(f.name, f.dataType) for f in call.type.fields)
    reader = CsvReader(Source(schema, "csv", call.option("options")), arrow_schema(schema))
    encoded = args[0].dictionary_encode()
    if not len(encoded.dictionary):
        return pa.nulls(len(args[0]), arrow_type(call.type))
    batch = reader.parse(encoded.dictionary.to_pylist())
    structs = pa.StructArray.from_arrays(batch.columns, fields=list(arrow_type(call.type)))
    return structs.take(encoded.indices)


@evaluates("StructsToCsv")
def _to_csv(call: Call, args: Args) -> pa.Array:
    kind = call.args[0].type
    assert isinstance(kind, T.StructType)
    options = dict(call.option("options"))
    written = CsvRows(
        tuple(f.dataType for f in kind.fields), TextValues(options["timezone"]), Dialect.of(Options(options))
    )
    columns = [pc.struct_field(args[0], [i]) for i in range(len(kind.fields))]
    lines = written(pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))]))
    return only(pa.array(lines, pa.string()), valid(args[0]))

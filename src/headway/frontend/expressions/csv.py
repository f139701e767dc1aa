"""Lowering of functions of CSV text.

Calls: `CsvToStructs(text)` and `StructsToCsv(struct)`, with `options`: pairs of text, keys in lower case, the time zone
among them.
"""

from __future__ import annotations

from pyspark.sql import types as T

from headway.connectors.sources.files import csv_reader
from headway.dataflow.expr import Call, Expr
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.json import text_options
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments
from headway.frontend.tree import Tree

_READING = frozenset(name.lower() for name in csv_reader.KNOWN) - {"multiline", "header", "mode"} | {"timezone"}
_WRITING = frozenset(
    {"sep", "delimiter", "quote", "escape", "nullvalue", "emptyvalue", "quoteall", "escapequotes", "timezone"}
)
_NESTED = (T.StructType, T.ArrayType, T.MapType)


@lowers("CsvToStructs")
def _from_csv(tree: Tree, lowering: Lowering) -> Expr:
    kind = spark_type(tree.fields["schema"])
    _require_flat(tree, kind)
    options = text_options(tree, _READING, lowering)
    return Call(kind, tree.name, arguments(tree, lowering), (("options", options),))


@lowers("StructsToCsv")
def _to_csv(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    _require_flat(tree, args[0].type)
    return Call(T.StringType(), tree.name, args, (("options", text_options(tree, _WRITING, lowering)),))


def _require_flat(tree: Tree, kind: T.DataType) -> None:
    assert isinstance(kind, T.StructType)
    for field in kind.fields:
        if isinstance(field.dataType, _NESTED):
            raise UnsupportedPlan(f"expression {tree.name} of {field.dataType.simpleString()}")

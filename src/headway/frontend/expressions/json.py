"""Lowering of functions of JSON text.

Calls: `JsonToStructs(text)` with `options` (pairs of text, keys in lower case, the time zone among them) and `corrupt`,
the name of the column for records that do not fit; `StructsToJson(value)` with `ignore_nulls` and `time_zone`;
`GetJsonObject(text)` with option `path`, its steps: a name, a position, or None for all elements;
`JsonLength(text)`, `JsonKeys(text)`; `JsonTuple(text)` with option `names`, an array of one struct.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import types as T

from headway.connectors.sources.files import json_reader
from headway.connectors.sources.options import session_setting
from headway.dataflow.expr import Call, Expr
from headway.dataflow.types import arrow_type
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.methods import lowers_evaluator, lowers_method
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments, constant
from headway.frontend.tree import Tree

_STRING = T.StringType()
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\['(?P<quoted>[^']*)'\]|\[(?P<index>\d+)\]|\[(?P<all>\*)\]|(?P<wild>\.\*)")
_WRITING = frozenset({"ignorenullfields", "timezone"})


def text_options(tree: Tree, known: frozenset[str], lowering: Lowering) -> tuple[tuple[str, str], ...]:
    """The options that a function was given, all of which must be known, and the time zone."""
    zone = tree.fields.get("timeZoneId") or lowering.time_zone
    given = {key.lower(): str(value) for key, value in tree.fields["options"].items()}
    for name in given:
        if name not in known:
            raise UnsupportedPlan(f"option {name} of {tree.name}")
    return tuple(sorted({"timezone": zone, **given}.items()))


def _corrupt(options: tuple[tuple[str, str], ...]) -> str:
    named = dict(options).get("columnnameofcorruptrecord")
    return named or session_setting("spark.sql.columnNameOfCorruptRecord", "_corrupt_record")


@lowers("JsonToStructs")
def _from_json(tree: Tree, lowering: Lowering) -> Expr:
    kind = spark_type(tree.fields["schema"])
    arrow_type(kind)
    known = frozenset(name.lower() for name in json_reader.KNOWN) | {"timezone"}
    options = text_options(tree, known, lowering)
    mode = dict(options).get("mode", "PERMISSIVE").upper()
    if mode not in ("PERMISSIVE", "FAILFAST"):
        raise UnsupportedPlan(f"option mode {mode} of from_json")
    return Call(kind, tree.name, arguments(tree, lowering), (("options", options), ("corrupt", _corrupt(options))))


@lowers_evaluator("StructsToJsonEvaluator")
def _to_json(tree: Tree, fields: list[Any], args: tuple[Expr, ...]) -> Expr:
    options = {key.lower(): str(value) for key, value in dict(fields[0]).items()}
    if not set(options) <= _WRITING:
        raise UnsupportedPlan(f"option {', '.join(sorted(set(options) - _WRITING))} of to_json")
    default = session_setting("spark.sql.jsonGenerator.ignoreNullFields", "true")
    ignore = options.get("ignorenullfields", default).lower() == "true"
    zone = options.get("timezone") or fields[2] or "UTC"
    return Call(_STRING, "StructsToJson", args, (("ignore_nulls", ignore), ("time_zone", zone)))


@lowers("GetJsonObject")
def _get_json_object(tree: Tree, lowering: Lowering) -> Expr:
    text, path = arguments(tree, lowering)
    return Call(_STRING, tree.name, (text,), (("path", steps(constant(tree, "path", path))),))


def steps(path: str | None) -> tuple[str | int | None, ...] | None:
    """The steps of a path; None if it is none, as Spark sees it.

    >>> steps("$.a['b'][0][*]")
    ('a', 'b', 0, None)
    """
    if path is None or not path.startswith("$"):
        return None
    found: list[str | int | None] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        at = step.end()
        name = step["name"] if step["name"] is not None else step["quoted"]
        if step["wild"] or name == "*":
            raise UnsupportedPlan(f"path {path}", "a wildcard for names has no native implementation")
        found.append(int(step["index"]) if step["index"] else name if name is not None else None)
    return tuple(found)


@lowers_method("JsonExpressionUtils", "lengthOfJsonArray")
def _length(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(T.IntegerType(), "JsonLength", args)


@lowers_method("JsonExpressionUtils", "jsonObjectKeys")
def _keys(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(T.ArrayType(_STRING), "JsonKeys", args)

"""Lowering of functions of arrays and maps.

Calls have Catalyst's children as arguments, but for these: `GetArrayItem` and `ElementAt` have the option `ansi`, the
latter also `default` (what stands for an element that is not there, or None); `GetArrayStructFields(array)` has
`ordinal`; `Size` has `legacy` (a null has the size -1), `ArrayInsert` too (how it counts from the end); what makes maps
has `last_wins` (of a key that comes twice). `ArrayConcat` and `ArrayReverse` are Concat and Reverse of arrays.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import types as T

from headway.connectors.sources.options import session_setting
from headway.dataflow.expr import Call, Expr, Literal
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments, constant, lowers_all
from headway.frontend.tree import Tree

lowers_all(T.BooleanType(), "ArrayContains", "ArraysOverlap")
lowers_all(T.LongType(), "ArrayPosition")
lowers_all(T.StringType(), "ArrayJoin")


def element_type(array: Expr) -> T.DataType:
    """The type of an array's elements."""
    assert isinstance(array.type, T.ArrayType)
    return array.type.elementType


def map_type(expr: Expr) -> T.MapType:
    """The type of a map."""
    assert isinstance(expr.type, T.MapType)
    return expr.type


def dedup_option() -> tuple[str, Any]:
    """The option `last_wins`."""
    return ("last_wins", session_setting("spark.sql.mapKeyDedupPolicy", "EXCEPTION").upper() == "LAST_WIN")


def common_type(values: tuple[Expr, ...]) -> T.DataType:
    """The type of all values, which analysis has made the same but for nulls without a type."""
    known = [value.type for value in values if not isinstance(value.type, T.NullType)]
    return known[0] if known else T.NullType()


@lowers("CreateArray")
def _create_array(tree: Tree, lowering: Lowering) -> Expr:
    values = arguments(tree, lowering)
    if not values:
        empty = T.StringType() if tree.fields["useStringTypeWhenEmpty"] else T.NullType()
        return Literal(T.ArrayType(empty), ())
    return Call(T.ArrayType(common_type(values)), tree.name, values)


@lowers("CreateMap")
def _create_map(tree: Tree, lowering: Lowering) -> Expr:
    values = arguments(tree, lowering)
    if not values:
        empty = T.StringType() if tree.fields["useStringTypeWhenEmpty"] else T.NullType()
        return Literal(T.MapType(empty, empty), ())
    return Call(T.MapType(common_type(values[::2]), common_type(values[1::2])), tree.name, values, (dedup_option(),))


@lowers("GetArrayItem")
def _item(tree: Tree, lowering: Lowering) -> Expr:
    array, at = arguments(tree, lowering)
    return Call(element_type(array), tree.name, (array, at), (("ansi", tree.fields["failOnError"]),))


@lowers("ElementAt")
def _element_at(tree: Tree, lowering: Lowering) -> Expr:
    left, right = arguments(tree, lowering)[:2]
    if isinstance(left.type, T.MapType):
        return Call(left.type.valueType, "GetMapValue", (left, right))
    default = tree.fields.get("defaultValueOutOfBound")
    value = None if default is None else default[0]["value"]
    part = _split_part(left, right) if value == "" else None
    if part is not None:
        return part
    options = (("ansi", tree.fields["failOnError"]), ("default", value))
    return Call(element_type(left), tree.name, (left, right), options)


def _split_part(pieces: Expr, number: Expr) -> Expr | None:
    """One piece of a text that is cut at a constant separator; None if that is not what is asked for.

    Where the separators are is an expression of its own, so that it is computed once for several pieces.
    """
    if not (isinstance(pieces, Call) and pieces.function == "StringSplitSQL" and isinstance(number, Literal)):
        return None
    text, separator = pieces.args
    if not (isinstance(separator, Literal) and separator.value and number.value):
        return None
    size = len(separator.value.encode())
    found = Call(T.ArrayType(T.IntegerType()), "Separators", (text,), (("separator", separator.value),))
    return Call(text.type, "SplitPart", (text, found), (("size", size), ("number", number.value)))


@lowers("GetMapValue")
def _value(tree: Tree, lowering: Lowering) -> Expr:
    entries, key = arguments(tree, lowering)
    return Call(map_type(entries).valueType, tree.name, (entries, key))


@lowers("GetArrayStructFields")
def _fields(tree: Tree, lowering: Lowering) -> Expr:
    (array,) = arguments(tree, lowering)
    struct, ordinal = element_type(array), tree.fields["ordinal"]
    assert isinstance(struct, T.StructType)
    return Call(T.ArrayType(struct.fields[ordinal].dataType), tree.name, (array,), (("ordinal", ordinal),))


@lowers("Size")
def _size(tree: Tree, lowering: Lowering) -> Expr:
    legacy = ("legacy", tree.fields["legacySizeOfNull"])
    return Call(T.IntegerType(), tree.name, arguments(tree, lowering), (legacy,))


@lowers("SortArray", "Slice", "ArrayRemove", "ArrayDistinct", "ArrayExcept", "ArrayIntersect", "ArrayUnion")
def _same_array(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    return Call(args[0].type, tree.name, args)


@lowers("ArrayMin", "ArrayMax")
def _one_element(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    return Call(element_type(args[0]), tree.name, args)


@lowers("Flatten")
def _flatten(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    return Call(element_type(args[0]), tree.name, args)


@lowers("ArrayRepeat")
def _repeat(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    return Call(T.ArrayType(args[0].type), tree.name, args)


@lowers("ArrayInsert")
def _insert(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    return Call(args[0].type, tree.name, args, (("legacy", tree.fields["legacyNegativeIndex"]),))


@lowers("ArraysZip")
def _zip(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    names = [name[0]["value"] for name in tree.fields["names"]]
    if not args:
        return Literal(T.ArrayType(T.StructType([])), ())
    fields = [T.StructField(name, element_type(arg)) for name, arg in zip(names, args, strict=True)]
    return Call(T.ArrayType(T.StructType(fields)), tree.name, args)


@lowers("MapKeys", "MapValues", "MapEntries")
def _parts(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    kind = map_type(args[0])
    entry = T.StructType([T.StructField("key", kind.keyType), T.StructField("value", kind.valueType)])
    parts: dict[str, T.DataType] = {"MapKeys": kind.keyType, "MapValues": kind.valueType, "MapEntries": entry}
    return Call(T.ArrayType(parts[tree.name]), tree.name, args)


@lowers("MapFromArrays")
def _map_from_arrays(tree: Tree, lowering: Lowering) -> Expr:
    keys, values = arguments(tree, lowering)
    kind = T.MapType(element_type(keys), element_type(values))
    return Call(kind, tree.name, (keys, values), (dedup_option(),))


@lowers("MapFromEntries")
def _map_from_entries(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    entry = element_type(args[0])
    assert isinstance(entry, T.StructType)
    kind = T.MapType(entry.fields[0].dataType, entry.fields[1].dataType)
    return Call(kind, tree.name, args, (dedup_option(),))


@lowers("MapConcat")
def _map_concat(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    if not args:
        return Literal(T.MapType(T.StringType(), T.StringType()), ())
    return Call(args[0].type, tree.name, args, (dedup_option(),))


@lowers("StringToMap")
def _string_to_map(tree: Tree, lowering: Lowering) -> Expr:
    text, pairs, values = arguments(tree, lowering)
    options = (
        ("pairs", constant(tree, "delimiter of pairs", pairs)),
        ("values", constant(tree, "delimiter of keys and values", values)),
        dedup_option(),
    )
    return Call(T.MapType(T.StringType(), T.StringType()), tree.name, (text,), options)


@lowers("Sequence")
def _sequence(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    zone = tree.fields.get("timeZoneId") or lowering.time_zone
    if len(args) > 2 and not isinstance(args[2].type, T.IntegralType | T.DayTimeIntervalType | T.YearMonthIntervalType):
        raise UnsupportedPlan(f"expression Sequence with a step of {args[2].type.simpleString()}")
    return Call(T.ArrayType(args[0].type), tree.name, args, (("time_zone", zone),))

"""Lowering of casts.

Calls: `Cast(x)` with options `time_zone` and `ansi`; `TryCast(x)` with option `time_zone`: null where ANSI would fail.
"""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.dataflow.types import arrow_type
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree

# A struct can be cast to a string and field by field to another struct; no kernel does so yet.
_SIMPLE = (
    *(T.BooleanType, T.NumericType, T.StringType, T.BinaryType, T.DateType, T.TimestampType, T.TimestampNTZType),
    T.NullType,
)


@lowers("Cast")
def _cast(tree: Tree, lowering: Lowering) -> Expr:
    child = lowering(tree.child("child"))
    target = spark_type(tree.fields["dataType"])
    arrow_type(target)
    if child.type == target:
        return child
    if not isinstance(child.type, _SIMPLE) or not isinstance(target, _SIMPLE):
        raise UnsupportedPlan(f"cast of {child.type.simpleString()} to {target.simpleString()}")
    zone = ("time_zone", tree.fields.get("timeZoneId") or lowering.time_zone)
    mode = tree.fields.get("evalMode") or ("ANSI" if lowering.ansi else "LEGACY")
    if mode == "TRY":
        return Call(target, "TryCast", (child,), (zone,))
    return Call(target, "Cast", (child,), (zone, ("ansi", mode == "ANSI")))

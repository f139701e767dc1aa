"""Lowering of leaves that have another value each time: `CurrentBatchTimestamp` with option `time_zone`; `Rand`,
`Randn` and `Uuid` with option `seed`; and of functions that are so: `RandStr(length)` and `Shuffle(array)` with `seed`.

On a stream Spark gives every micro-batch a new seed, whatever the user wrote. Here a seed only tells two uses apart.
"""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import constant, zone_option
from headway.frontend.tree import Tree


@lowers("CurrentBatchTimestamp")
def _clock(tree: Tree, lowering: Lowering) -> Expr:
    return Call(spark_type(tree.fields["dataType"]), "CurrentBatchTimestamp", (), (zone_option(tree, lowering),))


@lowers("Rand", "Randn")
def _number(tree: Tree, lowering: Lowering) -> Expr:
    seed = constant(tree, "seed", lowering(tree.children[0]))
    return Call(T.DoubleType(), tree.name, (), (("seed", seed),))


@lowers("RandStr")
def _text(tree: Tree, lowering: Lowering) -> Expr:
    length, seed = (lowering(child) for child in tree.children[:2])
    count = constant(tree, "length", length)
    if count is None or count < 0:
        raise UnsupportedPlan("expression RandStr", "its length is null or negative")
    return Call(T.StringType(), "RandStr", (), (("length", count), ("seed", constant(tree, "seed", seed))))


@lowers("Shuffle")
def _shuffle(tree: Tree, lowering: Lowering) -> Expr:
    array = lowering(tree.children[0])
    return Call(array.type, "Shuffle", (array,), (("seed", tree.fields.get("randomSeed")),))


@lowers("Uuid")
def _uuid(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.StringType(), "Uuid", (), (("seed", tree.fields.get("randomSeed")),))

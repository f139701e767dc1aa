"""Asks Spark which expression classes its optimizer makes of the documented examples of every function."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headway.java import ensure_java

_EXAMPLE = re.compile(r"> ((?:SELECT|WITH).*?);\s*\n", re.DOTALL)
_RULES = "org.apache.spark.sql.catalyst.optimizer."
# Examples are over constants; without these rules they stay what they are.
_EXCLUDED = (
    *("ConstantFolding", "ConvertToLocalRelation", "PropagateEmptyRelation", "NullPropagation", "FoldablePropagation"),
    *("OptimizeCsvJsonExprs", "SimplifyConditionals", "BooleanSimplification", "SimplifyExtractValueOps"),
    *("LikeSimplification", "SimplifyCasts", "EliminateSorts"),
)


def survey() -> dict[str, tuple[str, list[list[str]]]]:
    """By function its group, and the classes of each example."""
    ensure_java()
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.conf.set("spark.sql.optimizer.excludedRules", ",".join(_RULES + rule for rule in _EXCLUDED))
    state = spark._jsparkSession.sessionState()
    found = {}
    for registry in (state.functionRegistry(), state.tableFunctionRegistry()):
        for name, info in _infos(registry):
            found[name] = (info.getGroup(), [] if "window_" in info.getGroup() else _examples(spark, info))
    spark.stop()
    return found


def _infos(registry: Any) -> Iterator[tuple[str, Any]]:
    identifiers = registry.listFunction()
    for i in range(identifiers.size()):
        found = registry.lookupFunction(identifiers.apply(i))
        if found.isDefined():
            yield identifiers.apply(i).funcName(), found.get()


def _examples(spark: SparkSession, info: Any) -> list[list[str]]:
    if info.getClassName().endswith(".Cast"):
        return [["Cast"]]
    found = []
    for query in _EXAMPLE.findall(info.getExamples() + "\n"):
        try:
            plan = spark.sql(query)._jdf.queryExecution().optimizedPlan()
            found.append(sorted(set(_classes(json.loads(plan.toJSON())))))
        except (PySparkException, Py4JJavaError):
            continue
    return found


def _classes(value: Any) -> Iterator[str]:
    """The simple names of all classes in a plan's JSON; of calls of Java's, class and method."""
    if isinstance(value, list):
        for item in value:
            yield from _classes(item)
    elif isinstance(value, dict):
        if "class" in value:
            yield _name(value)
        for item in value.values():
            yield from _classes(item)


def _name(node: dict[str, Any]) -> str:
    name = str(node["class"]).rsplit(".", 1)[-1].rstrip("$")
    if name == "StaticInvoke":
        return f"{node['staticObject'].rsplit('.', 1)[-1].rstrip('$')}.{node['functionName']}"
    if name == "Literal" and node["dataType"] == "object":
        return str(node["value"]).split("(")[0]
    return f".{node['functionName']}" if name == "Invoke" else name

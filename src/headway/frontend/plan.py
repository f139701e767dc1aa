"""Catalyst's optimized plan of a streaming DataFrame: as data, with the JVM's own nodes at hand.

1. Every answer of the JVM costs a round trip, so the plan comes as one JSON text; a node of the JVM is fetched only
   where the JSON leaves something out (options, delays, static tables).
2. Expressions of static sub-plans are dropped: Spark itself runs those.
3. What the optimizer finds to be empty (`limit(0)`, and what is behind it) it would replace by nothing; Spark still
   follows the offsets and the watermarks of a stream that is in it, and so do we: it is optimized without that.
4. What the optimizer turns into a constant, though on a stream it changes with time, is kept from it, or refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pyspark.sql import DataFrame

from headway.errors import InvalidOption, UnsupportedPlan
from headway.frontend.clocks import live_clocks
from headway.frontend.expressions.completion import complete
from headway.frontend.tree import Tree, parse
from headway.gateway import answer_at_once

Flat = list[dict[str, Any]]
_STREAMS = frozenset({"StreamingRelation", "StreamingRelationV2"})
_CLOCKS = {
    "CurrentDate": "current_date",
    "CurrentTime": "current_time",
    "CurrentTimestamp": "current_timestamp",
    "CurrentTimestampNanos": "current_timestamp",
    "LocalTimestamp": "localtimestamp",
    "LocalTimestampNanos": "localtimestamp",
    "Now": "now",
}
_CLOCK_TEXT = re.compile(rf"\b({'|'.join(set(_CLOCKS.values()))})\(", re.IGNORECASE)
_ALL_FIELDS = 2**31 - 1
_STREAM_LINE = re.compile(r"\bStreamingRelation(?:V2)? .*")
_ID = re.compile(r"#(\d+)")
_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
_RULES = "org.apache.spark.sql.catalyst.optimizer"
_EMPTYING = ("PropagateEmptyRelation", "PruneFilters", "EliminateLimits", "ConvertToLocalRelation")


class PlanNode:
    """A node of the plan."""

    def __init__(self, tree: Tree, fetch: Callable[[], Any]) -> None:
        self.tree = tree
        self._fetch = fetch

    @property
    def name(self) -> str:
        return self.tree.name

    @cached_property
    def jvm(self) -> Any:
        """The JVM's node."""
        return self._fetch()

    @cached_property
    def children(self) -> tuple[PlanNode, ...]:
        return tuple(PlanNode(child, partial(self._jvm_child, i)) for i, child in enumerate(self.tree.children))

    def _jvm_child(self, ordinal: int) -> Any:
        return self.jvm.children().apply(ordinal)

    @cached_property
    def streaming(self) -> bool:
        """Whether a stream is below."""
        return is_streaming(self.tree)

    def expression(self, field: str) -> Tree:
        """The expression in `field`."""
        return parse(self.tree.fields[field])

    def expressions(self, field: str) -> tuple[Tree, ...]:
        """The list of expressions in `field`."""
        return tuple(parse(flat) for flat in self.tree.fields[field])


@dataclass(frozen=True)
class Plan:
    """The optimized plan, and the settings of the session under which its expressions mean something."""

    root: PlanNode
    spark: Any
    ansi: bool
    time_zone: str
    file_names: bool = False
    """Whether `input_file_name()` is somewhere in it."""


def read_plan(df: DataFrame) -> Plan:
    """The plan of `df`, which must be a streaming DataFrame."""
    if not df.isStreaming:
        raise InvalidOption(f"{df!r} is not a streaming DataFrame; make it from spark.readStream")
    spark = df.sparkSession
    answer_at_once(spark)
    ansi = spark.conf.get("spark.sql.ansi.enabled") == "true"
    analyzed = df._jdf.queryExecution().analyzed()
    text = analyzed.treeString(False, False, _ALL_FIELDS, False, False)
    time_zone = str(spark.conf.get("spark.sql.session.timeZone"))
    if _CLOCK_TEXT.search(text):
        analyzed = live_clocks(spark, analyzed, time_zone)
        _refuse_clocks(parse(json.loads(analyzed.toJSON())))
    optimized, flat = _optimized(spark, analyzed)
    if _streams_lost(text, flat):
        with _excluded(spark, _EMPTYING):
            optimized, flat = _optimized(spark, analyzed)
    _drop_static_expressions(flat)
    if "try_" not in text:
        loses = spark.conf.get("spark.sql.decimalOperations.allowPrecisionLoss") == "true"
        _assume_mode(flat, "ANSI" if ansi else "LEGACY", loses)
    tree = parse(complete(optimized, flat))
    return Plan(PlanNode(tree, lambda: optimized), spark, ansi, time_zone, "input_file_name(" in text)


def _optimized(spark: Any, analyzed: Any) -> tuple[Any, Flat]:
    """The JVM's plan, and its JSON."""
    optimized = spark._jsparkSession.sessionState().optimizer().execute(analyzed)
    return optimized, json.loads(optimized.toJSON())


def _streams_lost(text: str, flat: Flat) -> bool:
    """Whether the optimizer has put nothing in the place of a stream of the analyzed plan, which is `text`."""
    output = [attribute for node in flat if _name(node) in _STREAMS for attribute in node["output"]]
    kept = {str(attribute[0]["exprId"]["id"]) for attribute in output}
    streams = [set(_ID.findall(line)) for line in _STREAM_LINE.findall(text)]
    return any(ids and not ids & kept for ids in streams)


@contextmanager
def _excluded(spark: Any, rules: Sequence[str]) -> Iterator[None]:
    """The optimizer leaves these rules out. Other queries that are optimized meanwhile come to no harm."""
    before = spark.conf.get(_EXCLUDED_RULES, "")
    spark.conf.set(_EXCLUDED_RULES, ",".join(filter(None, [before, *(f"{_RULES}.{rule}" for rule in rules)])))
    try:
        yield
    finally:
        (spark.conf.set(_EXCLUDED_RULES, before) if before else spark.conf.unset(_EXCLUDED_RULES))


def _name(node: dict[str, Any]) -> str:
    return str(node["class"].rsplit(".", 1)[-1])


def is_streaming(tree: Tree) -> bool:
    """Whether a stream is in this plan."""
    return any(node.name in _STREAMS or node.fields.get("isStreaming") is True for node in tree.walk())


def _refuse_clocks(tree: Tree) -> None:
    for node in tree.walk():
        if is_streaming(node):
            for part in (part for tree in _trees(list(node.fields.values())) for part in tree.walk()):
                if part.name in _CLOCKS:
                    why = f"{_CLOCKS[part.name]}() changes while the query runs"
                    raise UnsupportedPlan(f"expression {part.name}", why)


def _trees(value: Any) -> Iterator[Tree]:
    """The expressions of a plan node, of which only the children count: some keep what they were made of as well."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list) and item and isinstance(item[0], dict) and "class" in item[0]:
            yield parse(item)
        else:
            yield from _trees(item)


def _expressions(value: Any) -> Iterator[dict[str, Any]]:
    """Every expression written anywhere inside a JSON value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if "class" in item:
                yield item
            item = list(item.values())
        waiting.extend(inner for inner in reversed(item) if isinstance(inner, dict | list))


def _drop_static_expressions(flat: Flat) -> None:
    """Without them nothing below a static sub-plan is completed, lowered or refused."""
    for node in _static_nodes(parse(flat)):
        for field in [name for name, value in node.fields.items() if isinstance(value, list)]:
            del node.fields[field]


def _static_nodes(tree: Tree) -> Iterator[Tree]:
    if not is_streaming(tree):
        yield from tree.walk()
        return
    for child in tree.children:
        yield from _static_nodes(child)


def _assume_mode(flat: Flat, mode: str, loses: bool) -> None:
    """Where the plan has no try_ function every expression follows the session: no need to ask the JVM for each."""
    for expression in _expressions(flat):
        if "evalContext" in expression:
            expression["allowPrecisionLoss"] = loses
        if "evalContext" in expression or "evalMode" in expression:
            expression["evalMode"] = mode

"""What `hw.explain` shows: the dataflow of a DataFrame, and which tier of kernels runs each part of it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from headway.connectors.sources import open_sources
from headway.dataflow.graph import Relation
from headway.dataflow.printing import tree
from headway.dataflow.stages import ChainStage, KeyedStage, cut
from headway.errors import UnsupportedPlan
from headway.frontend.lower import lower
from headway.kernels.api import Chain


def explain(df: DataFrame) -> str:
    """The dataflow of `df` as a tree, and for every part whether it is compiled, interpreted or falls back, and why."""
    try:
        plan, _ = open_sources(lower(df).plan)
    except UnsupportedPlan as unsupported:
        return _fallback(df, unsupported)
    return tree(plan, _notes(plan).get)


def _fallback(df: DataFrame, unsupported: UnsupportedPlan) -> str:
    analyzed = df._jdf.queryExecution().analyzed().toString().rstrip()
    return f"Falls back to Structured Streaming because of {unsupported}\n{analyzed}"


def _notes(root: Relation) -> dict[Relation, str]:
    """A remark for every relation that a kernel runs. Relations that were interned apart are equal all the same."""
    notes: dict[Relation, str] = {}
    for stage in cut(root, frozenset(), "append"):
        if isinstance(stage, ChainStage):
            notes |= dict.fromkeys(_relations(stage.chain), _tier(stage.chain))
        elif isinstance(stage, KeyedStage):
            notes[stage.relation] = "interpreted"
    return notes


def _relations(chain: Chain) -> tuple[Relation, ...]:
    return (*chain.steps, chain.aggregate) if chain.aggregate else chain.steps


def _tier(chain: Chain) -> str:
    from headway.kernels.compiled import why_not

    reason = why_not(chain)
    return "compiled" if reason is None else f"interpreted: {reason}"

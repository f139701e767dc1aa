"""Which of Spark's plan nodes and functions run natively: `docs/coverage.md`, from the registries.

1. `docs/functions.json` has, for every function of Spark's, the expression classes that the optimizer makes of its
   documented examples. Only Spark can tell (`python -m headway.coverage survey`), and it changes with Spark's version.
2. A function is native if there is an example all of whose classes are registered; compiled if the compiled tier knows
   them as well. `python -m headway.coverage` writes the page; no Spark is needed for that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.coverage.reasons import BY_GROUP, CLOCK_CLASS, CLOCKS, NO_FUNCTIONS, PLAN_NODES
from headway.frontend import aggregate_functions, generators, relations
from headway.frontend.expressions import known, methods
from headway.frontend.expressions.refusals import EXPRESSIONS
from headway.frontend.expressions.refusals import PLAN_NODES as WHY_NOT
from headway.kernels.compiled.emitter import compilable

DOCS = Path(__file__).parents[3] / "docs"
CATALOGUE, PAGE = DOCS / "functions.json", DOCS / "coverage.md"
# What stands around a function in an example, and constants, which Spark computes before there is a plan.
_AROUND = frozenset(
    [
        *("Alias", "AggregateExpression", "OneRowRelation", "LocalRelation", "LambdaFunction", "SortOrder", "Sort"),
        *("TypeOf", "ExpressionImplUtils.getSparkVersion", "SchemaOfCsvEvaluator", "SchemaOfJsonEvaluator"),
    ]
)
_COMPILED_AROUND = frozenset(
    [
        *(
            "AttributeReference",
            "Literal",
            "Alias",
            "OneRowRelation",
            "LocalRelation",
            "Project",
            "AggregateExpression",
        ),
        *("Aggregate", "Count", "Sum", "Average", "Min", "Max", "HyperLogLogPlusPlus"),
    ]
)
_COMPILED_NODES = frozenset({"Project", "Filter", "Expand", "Aggregate", "Join", "EventTimeWatermark"})
_COMPILED, _NATIVE = "native and compiled", "native"


@dataclass(frozen=True)
class Function:
    """A function of Spark's: its group, and the classes in each of its examples."""

    name: str
    group: str
    examples: tuple[frozenset[str], ...]


def registered() -> frozenset[str]:
    """The classes, methods, generators, aggregate functions and plan nodes that can be lowered."""
    found = known() | methods.known() | generators.known() | aggregate_functions.known() | relations.known()
    return found | _AROUND


def functions() -> list[Function]:
    """All of Spark's functions, by name."""
    catalogue = json.loads(CATALOGUE.read_text())
    return [
        Function(name, group, tuple(map(frozenset, [[CLOCK_CLASS]] if name in CLOCKS else examples)))
        for name, (group, examples) in sorted(catalogue.items())
    ]


def status(function: Function, names: frozenset[str], compiled: frozenset[str]) -> str:
    """ "native and compiled", "native", or "fallback: " and why."""
    reason = _refusal(function)
    if reason is not None:
        return f"fallback: {reason}"
    missing = [sorted(example - names) for example in function.examples]
    if any(not absent for absent in missing):
        return _COMPILED if any(example <= compiled for example in function.examples) else _NATIVE
    absent = min(missing, key=len, default=[])
    return f"fallback: {', '.join(absent)} has no native implementation" if absent else "fallback: Spark has no example"


def _refusal(function: Function) -> str | None:
    if function.group in BY_GROUP:
        return BY_GROUP[function.group]
    classes = {name for example in function.examples for name in example}
    if any("Sketch" in name for name in classes):
        return BY_GROUP["sketch_funcs"]
    found = [EXPRESSIONS[name] for name in sorted(classes) if name in EXPRESSIONS]
    return NO_FUNCTIONS.get(function.name) or (found[0] if found else None)


def page() -> str:
    """The text of `docs/coverage.md`."""
    return "\n".join([*_opening(), *_plan_nodes(), *_functions()]) + "\n"


def _opening() -> Iterator[str]:
    yield "# What runs natively"
    yield ""
    yield "Written by `make coverage` from the registries; a test compares. *Native* means that Headway computes it,"
    yield "over whole columns; *compiled*, that it also has a form in the compiled tier, for types of fixed width. What"
    yield "falls back runs in Structured Streaming, with a warning that names it, or is an error with `fallback=False`."
    yield "A function may still refuse an argument (a pattern, a format) that it cannot treat exactly as Spark does;"
    yield "the warning says so."
    yield ""


def _plan_nodes() -> Iterator[str]:
    yield "## Plan nodes"
    yield ""
    yield "| node | what makes it | |"
    yield "|---|---|---|"
    names = relations.known()
    for name, made_by in PLAN_NODES.items():
        native = _COMPILED if name in _COMPILED_NODES else _NATIVE
        why = WHY_NOT.get(name, "it has no native implementation")
        yield f"| {name} | {made_by} | {native if name in names else f'fallback: {why}'} |"
    for name in sorted(names - set(PLAN_NODES)):
        yield f"| {name} | | {_NATIVE} |"
    yield ""


def _functions() -> Iterator[str]:
    names, compiled = registered(), compilable() | _COMPILED_AROUND
    every = functions()
    found = {function.name: status(function, names, compiled) for function in every}
    native = sum(not text.startswith("fallback") for text in found.values())
    yield "## Functions"
    yield ""
    yield f"{native} of {len(every)} are native."
    for group in sorted({function.group for function in every}):
        yield ""
        yield f"### {group.removesuffix('_funcs').replace('_', ' ') or 'operators'}"
        yield ""
        yield "| function | |"
        yield "|---|---|"
        for function in every:
            if function.group == group:
                yield f"| `{function.name.replace('|', chr(92) + '|')}` | {found[function.name]} |"

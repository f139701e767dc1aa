"""What an aggregation does with a row whose group is found: the aggregates' states are brought up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.dataflow.graph import AggCall
from headway.kernels.compiled.emitter import SUM_OVERFLOW, Emitter, Scope
from headway.kernels.compiled.values import NotCompilable, Value, both, is_float, negate, storage

if TYPE_CHECKING:
    from headway.kernels.compiled.aggregation import AggregationPlan


@dataclass(frozen=True)
class Update:
    """An aggregate's argument for this row, and whether it counts."""

    agg: AggCall
    argument: Value | None
    counts: str


def update_of(agg: AggCall, emitter: Emitter, scope: Scope) -> Update:
    if agg.function not in ("count", "sum", "avg", "min", "max"):
        raise NotCompilable(f"aggregate {agg.function} has no compiled form")
    counts = "True"
    if agg.filter is not None:
        condition = emitter.scalar(agg.filter, scope)
        counts = emitter.let(both(condition.code, negate(condition.null)))
    if agg.function == "count":
        return Update(agg, None, _none_null(agg, counts, emitter, scope))
    if storage(agg.args[0].type) == "bit" and agg.function in ("sum", "avg"):
        raise NotCompilable(f"{agg.function} of booleans")
    if counts != "True":
        return _filtered(agg, counts, emitter, scope)
    argument = emitter.scalar(agg.args[0], scope)
    return Update(agg, argument, emitter.let(negate(argument.null)))


def _none_null(agg: AggCall, counts: str, emitter: Emitter, scope: Scope) -> str:
    for arg in agg.args:
        counts = both(counts, negate(emitter.null(arg, scope)))
    return emitter.let(counts)


def _filtered(agg: AggCall, counts: str, emitter: Emitter, scope: Scope) -> Update:
    """The argument is only computed for rows that pass the aggregate's own filter: it might fail on the others."""
    from headway.kernels.compiled.expressions.logic import when

    argument = when(counts, lambda: emitter.scalar(agg.args[0], scope), agg.args[0].type, emitter)
    return Update(agg, argument, emitter.let(both(counts, negate(argument.null))))


def write_updates(updates: Sequence[Update], plan: AggregationPlan, group: str, emitter: Emitter) -> list[str]:
    """Add a row to its group; gives the names of what that needs."""
    base = emitter.let(f"cells + 8 * {plan.width} * {group}", "base")
    _write_seen(updates, plan, base, emitter)
    for update, states in zip(updates, plan.states, strict=True):
        _write_update(update, base, states, emitter)
    arguments = [update.argument.code for update in updates if update.argument is not None]
    return [*arguments, *(update.counts for update in updates)]


def _write_seen(updates: Sequence[Update], plan: AggregationPlan, base: str, emitter: Emitter) -> None:
    bits = [
        f"(i64({update.counts}) << {i})"
        for i, update in enumerate(updates)
        if plan.seen_cell and update.agg.function in ("sum", "min", "max")
    ]
    if bits:
        emitter.line(f"store_i64({base}, {plan.seen}, load_i64({base}, {plan.seen}) | {' | '.join(bits)})")


def _write_update(update: Update, base: str, states: tuple[int, ...], emitter: Emitter) -> None:
    if update.agg.function == "count":
        emitter.line(f"store_i64({base}, {states[0]}, load_i64({base}, {states[0]}) + i64({update.counts}))")
    elif update.counts == "True":
        _write_value(update, base, states, emitter)
    elif update.counts != "False":
        with emitter.block(f"if {update.counts}:"):
            _write_value(update, base, states, emitter)


def _write_value(update: Update, base: str, states: tuple[int, ...], emitter: Emitter) -> None:
    assert update.argument is not None
    code, function = update.argument.code, update.agg.function
    real = is_float(update.agg.args[0].type)
    if function == "avg":
        emitter.line(f"store_i64({base}, {states[1]}, load_i64({base}, {states[1]}) + 1)")
    kind = "f64" if real or function == "avg" else "i64"
    old = emitter.let(f"load_{kind}({base}, {states[0]})")
    new = emitter.let(f"{kind}({code})")
    if function in ("sum", "avg"):
        if kind == "i64" and dict(update.agg.options).get("ansi", True):
            emitter.fail_if(f"add_overflows({old}, {new})", SUM_OVERFLOW)
        emitter.line(f"store_{kind}({base}, {states[0]}, {old} + {new})")
        return
    left, right = (new, old) if function == "min" else (old, new)
    better = f"less_floats({left}, {right})" if real else f"{left} < {right}"
    emitter.line(f"if {better}: store_{kind}({base}, {states[0]}, {new})")

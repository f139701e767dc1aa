"""Writes the partial aggregation at a chain's end: find the row's group, update its cells.

1. A group is a row of 8-byte cells: its keys, which keys are null, which aggregates have seen a value, the states.
   One cache line has all of a small group.
2. A window is held by its start.
3. Streams come window by window, and most queries have at most one more key: the dense index then gives the group by
   position, window by window; whatever it does not know is looked up by hash. A position is the key's value, or, of a
   column of a static table, the row's place there: several may be of one group.
4. Where groups are so many that each is a wait for memory, the hashes of some hundred rows are computed first, and the
   memory is asked for while others are computed: what comes then finds it in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import types as T

from headway.dataflow.expr import Column
from headway.dataflow.graph import AggCall, Aggregate
from headway.kernels.compiled import layout
from headway.kernels.compiled.emitter import Emitter, Scope
from headway.kernels.compiled.quick import Quick
from headway.kernels.compiled.updates import Update, update_of, write_updates
from headway.kernels.compiled.values import NotCompilable, Struct, Value, is_float, storage

_EXTREMES = {"min": ("i64(INT64_MAX)", "f64(np.nan)"), "max": ("i64(INT64_MIN)", "f64(-np.inf)")}


@dataclass(frozen=True)
class AggregationPlan:
    """Which cells a group has. `states[a][j]` is the cell of state column j of aggregate a.

    `windows` has for every key the length of its windows, 0 where it is none. `dense_key` is the key that the dense
    index is by: -1 if the window is the only key, None if there is no such index. `places`: how many places of a static
    table it is by, instead of the key's value, if that is not 0.
    """

    keys: int
    null_cell: bool
    seen_cell: bool
    states: tuple[tuple[int, ...], ...]
    dense_key: int | None
    windows: tuple[int, ...]
    places: int = 0

    @property
    def key_cells(self) -> int:
        return self.keys + self.null_cell

    @property
    def seen(self) -> int:
        return self.key_cells

    @property
    def width(self) -> int:
        return self.key_cells + self.seen_cell + sum(map(len, self.states))


def write_aggregation(
    aggregate: Aggregate, emitter: Emitter, scope: Scope, like: AggregationPlan | None, ahead: str | None
) -> AggregationPlan:
    """Write what happens to a row that has come through the steps; `ahead` is its place among the part's hashes, if
    they may have been computed."""
    if aggregate.session:
        raise NotCompilable("session windows have no compiled form")
    updates = [update_of(agg, emitter, scope) for agg in aggregate.aggs]
    keys = _keys(aggregate, emitter, scope)
    plan = like or _plan(aggregate, keys, updates)
    emitter.preamble += _preamble(plan)
    write_updates(updates, plan, _write_group(aggregate, keys, plan, emitter, ahead), emitter)
    if emitter.quick is not None:
        emitter.quick.update = lambda group: write_updates(updates, plan, group, emitter)
    return plan


def write_hash(aggregate: Aggregate, emitter: Emitter, scope: Scope, like: AggregationPlan | None, place: str) -> None:
    """Write the hash of a row's keys to its place, and ask for where the hash table has its group."""
    keys = [_key(key, emitter, scope) for key in aggregate.keys]
    null_cell = like.null_cell if like else _some_null(keys)
    code = emitter.let(_hash(_key_cells(keys, null_cell, emitter)[0]))
    emitter.line(f"store_i64(hashes, {place}, {code})")
    emitter.line(f"prefetch(table + 4 * ({code} & mask))")


def write_approach(emitter: Emitter, place: str) -> None:
    """Ask for the first and the last cell of the group that is found at a hash."""
    group = emitter.let(f"cells + stride * load_i32(table, load_i64(hashes, {place}) & mask)")
    emitter.line(f"prefetch({group})")
    emitter.line(f"prefetch({group} + stride - 8)")


def write_full_check(new: int, emitter: Emitter) -> None:
    """Leave the kernel at this row if so many groups more are more than there is room for."""
    with emitter.block(f"if seldom(groups + {new} > limit):"):
        for slot, value in {layout.GROUPS: "groups", layout.TIME: "latest", layout.FROM: "i"}.items():
            emitter.line(f"header[{slot}] = {value}")
        emitter.line(f"return {layout.FULL}")


def _keys(aggregate: Aggregate, emitter: Emitter, scope: Scope) -> list[Value | Struct]:
    """Windows last: with the first of them the search for the group begins."""
    order = sorted(range(len(aggregate.keys)), key=lambda i: isinstance(aggregate.keys[i].type, T.StructType))
    keys = {i: _key(aggregate.keys[i], emitter, scope) for i in order}
    return [keys[i] for i in range(len(keys))]


def _key(key: Column, emitter: Emitter, scope: Scope) -> Value | Struct:
    value = emitter.value(key, scope)
    if isinstance(value, Struct) and value.ordinal is None:
        raise NotCompilable("a group key that is a struct and not a time window has no compiled form")
    if isinstance(value, Value) and is_float(key.type):
        bits = f"bits_f64(normal({value.code}))" if storage(key.type) == "f64" else f"bits_f32(normal({value.code}))"
        return Value(emitter.let(bits), value.null)
    if isinstance(value, Value):
        return replace(value, code=emitter.let(f"i64({value.code})"))
    return value


def _plan(aggregate: Aggregate, keys: list[Value | Struct], updates: list[Update]) -> AggregationPlan:
    null_cell = _some_null(keys)
    seen_cell = any(_tracked(u) for u in updates)
    at = len(keys) + null_cell + seen_cell
    states = []
    for update in updates:
        size = 2 if update.agg.function == "avg" else 1
        states.append(tuple(range(at, at + size)))
        at += size
    windows = tuple(key.duration if isinstance(key, Struct) else 0 for key in keys)
    others = [i for i, duration in enumerate(windows) if not duration]
    dense = (
        len(keys) - len(others) <= 1 and len(others) <= 1 and not any(is_float(aggregate.keys[i].type) for i in others)
    )
    dense_key = (others[0] if others else -1) if dense and keys else None
    other = keys[others[0]] if dense and others else None
    places = other.places if isinstance(other, Value) and other.places <= layout.DENSE_KEYS else 0
    return AggregationPlan(len(keys), null_cell, seen_cell, tuple(states), dense_key, windows, places)


def _some_null(keys: list[Value | Struct]) -> bool:
    return any(null != "False" for null in _missing(keys))


def _missing(keys: list[Value | Struct]) -> list[str]:
    return [key.fields[0].null if isinstance(key, Struct) else key.null for key in keys]


def _tracked(update: Update) -> bool:
    """Whether a group can be there without a value of this aggregate, whose state is then null."""
    return update.counts != "True" and update.agg.function in ("sum", "min", "max")


def _preamble(plan: AggregationPlan) -> list[str]:
    names = {
        "groups": layout.GROUPS,
        "limit": layout.LIMIT,
        "cells": layout.CELLS,
        "table": layout.TABLE,
        "mask": layout.MASK,
        "key_low": layout.KEY_LOW,
        "key_range": layout.KEY_RANGE,
        "dense": layout.DENSE,
        "way_starts": layout.WAY_STARTS,
        "hashes": layout.HASHES,
    }
    rebuild = f"if header[{layout.DIRTY}] != 0: rehash(table, mask, cells, {plan.width}, {plan.key_cells}, groups)"
    known = [*(f"{name} = header[{slot}]" for name, slot in names.items()), f"stride = i64({8 * plan.width})"]
    return [*known, rebuild, f"header[{layout.DIRTY}] = 0"]


def _key_cells(keys: list[Value | Struct], null_cell: bool, emitter: Emitter) -> tuple[list[str], str]:
    """What the cells of a group's keys have, and which keys are null."""
    missing = _missing(keys)
    nulls = _null_bits(missing)
    nulls = nulls if nulls == "i64(0)" else emitter.let(nulls)
    parts = [emitter.let(key.fields[0].code if isinstance(key, Struct) else key.code) for key in keys]
    parts = [_zero_if_null(part, null, emitter) for part, null in zip(parts, missing, strict=True)]
    return [*parts, nulls] if null_cell else parts, nulls


def _hash(cells: list[str]) -> str:
    code = "i64(0)"
    for cell in cells:
        code = f"mix({code} ^ {cell})"
    return code


def _write_group(
    aggregate: Aggregate, keys: list[Value | Struct], plan: AggregationPlan, emitter: Emitter, ahead: str | None
) -> str:
    """Find the group's number, a new one if it is new."""
    if not keys:
        _initialise(aggregate, [], plan, emitter, "if groups == 0:", "i64(0)")
        return "i64(0)"
    cells, nulls = _key_cells(keys, plan.null_cell, emitter)
    group = emitter.name("g")
    if plan.dense_key is None:
        emitter.line(f"{group} = i64(-1)")
    else:
        _write_dense(keys, cells, nulls, plan, emitter, group)
    with emitter.block(f"if {group} < 0:" if plan.dense_key is None else f"if seldom({group} < 0):"):
        _write_probe(aggregate, cells, plan, emitter, group, ahead)
        if plan.dense_key is not None:
            emitter.line(f"if place_{group} >= 0: store_i32(dense, place_{group}, {group})")
    return group


def _null_bits(missing: list[str]) -> str:
    bits = [f"(i64({null}) << {i})" for i, null in enumerate(missing) if null != "False"]
    return " | ".join(bits) or "i64(0)"


def _zero_if_null(part: str, null: str, emitter: Emitter) -> str:
    return part if null == "False" else emitter.let(f"i64(0) if {null} else {part}")


def _write_dense(
    keys: list[Value | Struct], parts: list[str], nulls: str, plan: AggregationPlan, emitter: Emitter, group: str
) -> None:
    """Ask the dense index: its way for the window, its place for the other key."""
    window = next((i for i, key in enumerate(keys) if isinstance(key, Struct)), None)
    emitter.line(f"{group} = place_{group} = i64(-1)")
    position = emitter.let(_position(keys, parts, plan), "d")
    condition = f"below({position}, key_range)" + ("" if nulls == "i64(0)" else f" and {nulls} == 0")
    with emitter.block(f"if {condition}:"):
        way = "i64(0)"
        if window is not None:
            struct = keys[window]
            assert isinstance(struct, Struct)
            way = _write_way(struct, parts[window], emitter)
        emitter.line(f"place_{group} = {way} + {position}")
        if emitter.quick is not None:
            _write_nearness(emitter.quick, keys, plan, way, emitter)
        emitter.line(f"{group} = load_i32(dense, place_{group})")


def _write_nearness(
    quick: Quick, keys: list[Value | Struct], plan: AggregationPlan, way: str, emitter: Emitter
) -> None:
    """From here on, rows of this window may take the quick way."""
    key = keys[plan.dense_key] if plan.dense_key is not None and plan.dense_key >= 0 else None
    if not isinstance(key, Value):
        return
    quick.way = way
    if key.place in quick.tables:
        found, low, span = quick.tables[key.place]
        quick.place = found, low
        emitter.line(f"{quick.near} = key_range if {span} != 0 else i64(0)")
    elif not quick.tables:
        quick.place = key, "key_low"
        emitter.line(f"{quick.near} = key_range")


def _write_way(window: Struct, start: str, emitter: Emitter) -> str:
    """The first place of a window's way in the dense index; most rows are of the window of the row before."""
    known, base = emitter.state("i64(INT64_MIN)", "start"), emitter.state("i64(0)", "way")
    with emitter.block(f"if seldom({start} != {known}):"):
        emitter.line(f"way = {window.ordinal} & {layout.WAYS - 1}")
        emitter.line(f"{base} = way * key_range")
        with emitter.block(f"if load_i64(way_starts, way) != {start}:"):
            emitter.line(f"store_i64(way_starts, way, {start})")
            emitter.line(f"fill(dense + 4 * {base}, key_range)")
        emitter.line(f"{known} = {start}")
    return base


def _position(keys: list[Value | Struct], parts: list[str], plan: AggregationPlan) -> str:
    """Source of the place of a row's key in the dense index."""
    if plan.dense_key is None or plan.dense_key < 0:
        return "i64(0)"
    key = keys[plan.dense_key]
    if plan.places and isinstance(key, Value) and key.place is not None:
        return key.place
    return f"{parts[plan.dense_key]} - key_low"


def _write_probe(
    aggregate: Aggregate, cells: list[str], plan: AggregationPlan, emitter: Emitter, group: str, ahead: str | None
) -> None:
    code = _hash(cells)
    emitter.line(
        f"at = {code} & mask" if ahead is None else f"at = (load_i64(hashes, {ahead}) if ahead else {code}) & mask"
    )
    with emitter.block("while True:"):
        emitter.line(f"{group} = load_i32(table, at)")
        _initialise(aggregate, cells, plan, emitter, f"if {group} < 0:", group)
        same = " and ".join(f"load_i64(cells, {group} * {plan.width} + {i}) == {cell}" for i, cell in enumerate(cells))
        emitter.line(f"if {same}: break")
        emitter.line("at = (at + 1) & mask")


def _initialise(
    aggregate: Aggregate, cells: list[str], plan: AggregationPlan, emitter: Emitter, header: str, group: str
) -> None:
    with emitter.block(header):
        if cells:
            write_full_check(1, emitter)
            emitter.line(f"{group} = groups")
            emitter.line(f"store_i32(table, at, {group})")
        emitter.line("groups += 1")
        base = emitter.let(f"{group} * {plan.width}")
        for i, cell in enumerate(cells):
            emitter.line(f"store_i64(cells, {base} + {i}, {cell})")
        if plan.seen_cell:
            emitter.line(f"store_i64(cells, {base} + {plan.seen}, i64(0))")
        for agg, states in zip(aggregate.aggs, plan.states, strict=True):
            for state, (kind, initial) in zip(states, _initial(agg), strict=True):
                emitter.line(f"store_{kind}(cells, {base} + {state}, {initial})")
        if cells:
            emitter.line("break")


def _initial(agg: AggCall) -> list[tuple[str, str]]:
    """The kind and first value of every state cell of an aggregate."""
    real = bool(agg.args) and is_float(agg.args[0].type)
    if agg.function == "count":
        return [("i64", "i64(0)")]
    if agg.function == "avg":
        return [("f64", "f64(0.0)"), ("i64", "i64(0)")]
    if agg.function == "sum":
        return [("f64", "f64(0.0)")] if real else [("i64", "i64(0)")]
    return [("f64" if real else "i64", _EXTREMES[agg.function][real])]

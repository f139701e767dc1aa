"""Hypothesis strategies of whole cases: rows in steps, a plan over them, and how it is run."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from plan_cases import Case, Step, disorder
from plan_language import Plan
from plan_strategies import (
    Draw,
    Given,
    Relation,
    _filtered,
    aggregates,
    joins,
    keys,
    sessions,
    sources,
    stateless,
    timed,
    windows,
    without_duplicates,
)

# Doubles whose sums are exact in whatever order, and the special ones.
DOUBLES = [None, 0.0, -0.0, float("nan"), 1.5, -2.25, 100.0, float("inf"), float("-inf")]
"""Values of a column come with null first: what is smaller is simpler."""
VALUES = st.tuples(
    st.sampled_from([1, 0, 2, 3, None]),
    st.sampled_from([0, 1, -7, 1_000_003, 2**40, None]),
    st.sampled_from([1.5, *DOUBLES]),
    st.sampled_from(["0.00", "1.25", "-99.99", "99999999.99", None]),
    st.sampled_from(["a", "", "Zürich", "  b", "A", None]),
    st.sampled_from([True, False, None]),
)
JITTER = st.integers(-40, 40).map(lambda halves: halves * 500) | st.none()
MODES = [(1, "never"), (2, "never"), (2, "never"), (1, "never"), (2, "background"), (1, "first"), (2, "first")]


@st.composite
def steps(draw: Draw, streams: int, partitions: int) -> list[Step]:
    found: list[Step] = []
    number = 0
    for at in range(draw(st.integers(1, 7))):
        rows: list[list[Any]] = []
        for values in draw(st.lists(VALUES, max_size=8)):
            jitter = draw(JITTER)
            rows.append([number, *values, None if jitter is None else 30_000 + at * 15_000 + jitter])
            number += 1
        where = draw(st.integers(0, streams - 1)), draw(st.integers(0, partitions - 1))
        found.append(Step(*where, draw(st.booleans()), rows))
    return found


@st.composite
def cases(draw: Draw) -> Case:
    kind = draw(st.sampled_from(["append", "stateless", "complete", "update", "late", "append"]))
    streams, partitions = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    rows = draw(steps(streams, partitions))
    spread = disorder(rows)
    delay = draw(st.integers(0, spread)) if kind == "late" else spread + draw(st.sampled_from([1, 1, 1000, 60_000]))
    relation = draw(_plan(kind, Given(streams, delay, kind == "late")))
    nodes, tier = draw(st.sampled_from(MODES))
    return Case(
        plan=relation.plan,
        steps=rows,
        static=draw(st.lists(st.tuples(st.sampled_from([1, 0, 2, None]), st.sampled_from(["a", None]),
                                       st.sampled_from([1.5, None])), max_size=4)),
        streams=streams,
        partitions=partitions,
        output=kind if kind in ("complete", "update") else "append",
        late=kind == "late",
        ansi=draw(st.integers(0, 3)) == 3,
        options={"headway.nodes": str(nodes), "headway.compile": tier},
        restart=draw(st.integers(0, len(rows) - 1)) if draw(st.integers(0, 5)) == 5 else None,
    )  # fmt: skip


@st.composite
def _plan(draw: Draw, kind: str, given: Given) -> Relation:
    if kind == "stateless":
        return draw(stateless(draw(sources(given)), 4))
    if kind == "late":
        return draw(_more_for_more(given))
    relation = draw(timed(given))
    return draw(_stateful(relation, given)) if kind == "append" else draw(_grouped(relation, kind))


@st.composite
def _stateful(draw: Draw, relation: Relation, given: Given) -> Relation:
    """One operator with state, or several."""
    for _ in range(draw(st.integers(1, 2))):
        if "ts" not in relation.names:
            break
        kind = draw(st.sampled_from(["window", "session", "dedup", "join", "windows of both"]))
        relation = draw(_operator(kind, relation, given))
        if relation.plan["op"] == "join" and relation.plan["how"] in ("right", "full"):
            break
    return relation


@st.composite
def _operator(draw: Draw, kind: str, relation: Relation, given: Given) -> Relation:
    if kind == "window":
        return draw(_having(draw(windows(relation))))
    if kind == "session":
        return draw(_having(draw(sessions(relation))))
    if kind == "dedup":
        return draw(without_duplicates(relation))
    if kind == "join":
        return draw(joins(relation, draw(timed(given)), given.late))
    return draw(_windows_of_both(relation))


@st.composite
def _having(draw: Draw, relation: Relation) -> Relation:
    """A filter on aggregates alone: on keys it would be below the watermark."""
    if draw(st.integers(0, 3)) < 3:
        return relation
    numbers = tuple((n, kind) for n, kind in relation.columns if n.startswith("a") and kind == "integer")
    if not numbers:
        return relation
    where = draw(st.sampled_from(["{} > 1", "{} is not null", "{} % 2 = 0"])).format(numbers[0][0])
    return relation.over({"op": "filter", "where": where})


@st.composite
def _windows_of_both(draw: Draw, relation: Relation) -> Relation:
    left = draw(windows(relation))
    made = draw(aggregates(relation))
    right = left.plan | {"aggregates": [(name, sql) for name, _, sql in made]}
    how = draw(st.sampled_from(["inner", "left", "full"]))
    columns = [c for c in left.columns if c[0] != "ts"] + [(f"r_{name}", kind) for name, kind, _ in made]
    return Relation({"op": "join_windows", "how": how, "left": left.plan, "right": right}, tuple(columns))


@st.composite
def _grouped(draw: Draw, relation: Relation, output: str) -> Relation:
    """An aggregation whose whole result is told, or what changes of it."""
    windowed = draw(st.booleans())
    if windowed:
        found = draw(windows(relation))
    else:
        by, made = draw(keys(relation)), draw(aggregates(relation))
        plan = {"op": "group", "by": [(n, sql) for n, _, sql in by], "aggregates": [(n, sql) for n, _, sql in made]}
        found = Relation(plan | {"of": relation.plan}, tuple((n, kind) for n, kind, _ in by + made))
    if output == "complete":
        found = draw(_having(found)) if draw(st.booleans()) else draw(_filtered(found))
        if draw(st.integers(0, 5)) == 5:
            found = found.over({"op": "top", "n": draw(st.integers(0, 5))})
    return found


@st.composite
def _more_for_more(draw: Draw, given: Given) -> Relation:
    """A plan that gives the rows of some input at least if it is given them at least."""
    relation = draw(timed(given))
    kind = draw(st.sampled_from(["window", "session", "dedup", "join"]))
    if kind in ("dedup", "join"):
        return draw(_operator(kind, relation, given))
    grouped = draw(windows(relation)) if kind == "window" else draw(sessions(relation))
    by = [(name, name) for name, _ in grouped.plan["by"]]
    plan: Plan = grouped.plan | {"aggregates": [("ids", "collect_list(id)")]}
    if kind == "session":  # where one begins depends on all its rows
        plan = {"op": "project", "columns": [*by, ("ids", "ids")], "of": plan}
    return Relation({"op": "explode", "by": "explode", "sql": "ids", "as": "id", "of": plan}, ())

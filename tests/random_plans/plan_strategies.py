"""Hypothesis strategies of whole cases: plans that Spark accepts as streams, and rows with which their answer is sure.

1. Every filter below a watermark lets the last rows of a stream pass: without them nothing ends.
2. The delay of watermarks is more than the rows' disorder, so that no row is late; or, in late cases, it is not, and
   the plan is of operators that give more rows for more rows.
3. Where the answer depends on the order of rows (ties, first values), the plan does not ask for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st
from plan_language import QUESTIONS, USER_FUNCTIONS, Plan

from random_sql import trees

Draw = st.DrawFn
Columns = tuple[tuple[str, str], ...]
"""Names and kinds: integer, double, decimal, string, boolean, time, or other."""
BASE: Columns = (
    ("id", "integer"), ("k", "integer"), ("l", "integer"), ("d", "double"), ("m", "decimal"), ("s", "string"),
    ("b", "boolean"), ("ts", "time"),
)  # fmt: skip
KINDS = ("integer", "double", "decimal", "string", "boolean")
TYPES = {"k": "int", "l": "bigint", "d": "double", "m": "decimal(10,2)", "s": "string", "b": "boolean"}
STATIC: Columns = (("sk", "integer"), ("sn", "string"), ("sw", "double"))
CONSTANTS = {
    "integer": ["1", "0", "3"],
    "double": ["0.5D", "0D"],
    "decimal": ["1.50BD", "0BD"],
    "string": ["'a'", "''"],
    "boolean": ["true"],
}
# Parts are cheap and pay: each is one more function between columns of other kinds.
DERIVED = {
    "string": {"integer": ["length({})", "instr({}, 'a')"], "string": ["upper({})", "substring({}, 2)", "trim({})"],
               "boolean": ["{} like '%a%'"]},
    "integer": {"string": ["cast({} as string)", "concat('#', {})"], "double": ["cast({} as double)"],
                "decimal": ["cast({} as decimal(20,2))"], "integer": ["{} div 2", "hash({})"],
                "boolean": ["{} between 0 and 2"]},
    "double": {"string": ["cast({} as string)"], "boolean": ["isnan({})"], "double": ["{} / 4", "nanvl({}, 1)"]},
    "decimal": {"string": ["cast({} as string)"], "integer": ["cast({} as int)"], "decimal": ["round({}, 1)"]},
    "boolean": {"integer": ["cast({} as int)"], "string": ["cast({} as string)"]},
    "time": {"integer": ["hour({})", "second({})", "unix_seconds({})"], "string": ["date_format({}, 'HH:mm:ss')"]},
}  # fmt: skip
AGGREGATES = {
    "integer": ["sum", "avg", "min", "max", "count", "collect_list", "collect_set", "stddev_samp", "bit_xor"],
    "double": ["sum", "avg", "min", "max", "count", "collect_list"],
    "decimal": ["sum", "avg", "min", "max", "count", "collect_list", "collect_set"],
    "string": ["min", "max", "count", "collect_list", "collect_set", "approx_count_distinct"],
    "boolean": ["bool_and", "bool_or", "count", "count_if", "min", "collect_set"],
    "time": ["min", "max", "count"],
}
OF = {"count": "integer", "count_if": "integer", "approx_count_distinct": "integer", "avg": "double",
      "collect_list": "other", "collect_set": "other", "stddev_samp": "other", "bool_and": "boolean",
      "bool_or": "boolean"}  # fmt: skip


class Relation(NamedTuple):
    plan: Plan
    columns: Columns
    unique: bool = False
    """Whether ids tell rows apart."""

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    def over(self, plan: Plan, *more: tuple[str, str]) -> Relation:
        return Relation({**plan, "of": self.plan}, (*self.columns, *more), self.unique)

    def new(self, number: int = 0) -> str:
        """A name for a column that is not there: the first of them, or that with this number."""
        used = [int(name[1:]) for name in self.names if name[0] == "x"]
        return f"x{max(used, default=-1) + 1 + number}"


class Given(NamedTuple):
    """What is decided before the plan is."""

    streams: int
    delay: int
    late: bool


def leaves_of(relation: Relation) -> dict[str, list[str]]:
    leaves = {kind: [name for name, of in relation.columns if of == kind] + CONSTANTS[kind] for kind in KINDS}
    for name, kind in relation.columns:
        for target, patterns in DERIVED.get(kind, {}).items():
            leaves[target] += [pattern.format(name) for pattern in patterns]
    return leaves


def expressions(relation: Relation, kind: str, depth: int = 1) -> st.SearchStrategy[str]:
    return trees(kind, depth, leaves_of(relation))


def _passing(relation: Relation, predicate: str) -> str:
    return f"({predicate}) or id < 0" if "id" in relation.names else predicate


@st.composite
def sources(draw: Draw, given: Given, depth: int = 1) -> Relation:
    """One stream or several of the same columns."""
    relation = Relation({"op": "stream", "n": draw(st.integers(0, given.streams - 1))}, BASE, unique=True)
    for kind in draw(st.lists(st.sampled_from(["filter", "replace", "union", "mapped"]), max_size=2)):
        if kind == "filter":
            predicate = draw(expressions(relation, "boolean"))
            relation = relation.over({"op": "filter", "where": _passing(relation, predicate)})
        elif kind == "replace":
            relation = draw(_replaced(relation))
        elif kind == "mapped":
            relation = relation.over({"op": "mapped"})
        elif depth:
            other = draw(sources(given, depth - 1))
            relation = Relation({"op": "union", "left": relation.plan, "right": other.plan}, BASE)
    return relation


@st.composite
def _replaced(draw: Draw, relation: Relation) -> Relation:
    name = draw(st.sampled_from(sorted(TYPES)))
    sql = draw(expressions(relation, dict(BASE)[name]))
    columns = [(n, f"cast({sql} as {TYPES[n]})" if n == name else n) for n, _ in BASE]
    return relation.over({"op": "project", "columns": columns})


@st.composite
def timed(draw: Draw, given: Given) -> Relation:
    """With a watermark, of all together or of each."""
    relation = _watermark(draw(sources(given)), given.delay)
    if draw(st.integers(0, 5)) == 5:
        other = _watermark(draw(sources(given)), given.delay + 1000)
        relation = Relation({"op": "union", "left": relation.plan, "right": other.plan}, BASE)
    return draw(stateless(relation))


def _watermark(relation: Relation, delay: int) -> Relation:
    return relation.over({"op": "watermark", "delay": delay})


@st.composite
def stateless(draw: Draw, relation: Relation, most: int = 2) -> Relation:
    steps = {
        "filter": _filtered, "project": _projected, "lookup": _looked_up, "explode": _exploded, "user": _by_user,
        "asked": _asked, "unpivot": _unpivoted,
    }  # fmt: skip
    for kind in draw(st.lists(st.sampled_from(sorted(steps)), max_size=most)):
        relation = draw(steps[kind](relation))
    return relation


@st.composite
def _filtered(draw: Draw, relation: Relation) -> Relation:
    predicate = draw(expressions(relation, "boolean", 2))
    return relation.over({"op": "filter", "where": _passing(relation, predicate)})


@st.composite
def _projected(draw: Draw, relation: Relation) -> Relation:
    dropped = draw(st.sets(st.sampled_from([name for name in relation.names if name not in ("id", "ts")] or ["id"])))
    kept = tuple((name, kind) for name, kind in relation.columns if name in ("id", "ts") or name not in dropped)
    made = [(relation.new(i), *draw(_column(relation))) for i in range(draw(st.integers(1, 2)))]
    columns = [(name, name) for name, _ in kept] + [(name, sql) for name, _, sql in made]
    more = tuple((name, kind) for name, kind, _ in made)
    return Relation({"op": "project", "columns": columns, "of": relation.plan}, kept + more, relation.unique)


@st.composite
def _column(draw: Draw, relation: Relation) -> tuple[str, str]:
    kind = draw(st.sampled_from(KINDS))
    return kind, draw(expressions(relation, kind, 2))


@st.composite
def _looked_up(draw: Draw, relation: Relation) -> Relation:
    if "sk" in relation.names or "k" not in relation.names:
        return relation
    how = draw(st.sampled_from(["inner", "left", "left_semi", "left_anti"]))
    on = "k = sk" + draw(st.sampled_from(["", " and sw > 0", " and id % 2 = 0", " and id < sw"]))
    more = () if how in ("left_semi", "left_anti") else STATIC
    return Relation({"op": "lookup", "how": how, "on": on, "of": relation.plan}, relation.columns + more)


@st.composite
def _asked(draw: Draw, relation: Relation) -> Relation:
    if not {"k", "b"} <= set(relation.names):
        return relation
    question, name = draw(st.sampled_from(sorted(QUESTIONS))), relation.new()
    kind = "integer" if question in ("highest", "none", "all") else "boolean"
    return relation.over({"op": "asked", "question": question, "as": name}, (name, kind))


@st.composite
def _unpivoted(draw: Draw, relation: Relation) -> Relation:
    if not {"k", "l"} <= set(relation.names):
        return relation
    names = relation.new(), relation.new(1)
    kept = tuple(column for column in relation.columns if column[0] not in ("k", "l"))
    plan = {"op": "unpivot", "values": ["k", "l"], "as": names, "of": relation.plan}
    return Relation(plan, (*kept, (names[0], "string"), (names[1], "integer")))


@st.composite
def _exploded(draw: Draw, relation: Relation) -> Relation:
    name, number = relation.new(), draw(expressions(relation, "integer", 0))
    arrays = [f"array({number}, {number})", f"sequence(0, pmod({number}, 3))", "array()", f"array(1, {number}, null)"]
    sql = draw(st.sampled_from(arrays))
    by = draw(st.sampled_from(["explode", "explode_outer"]))
    wider = relation.over({"op": "explode", "by": by, "sql": sql, "as": name}, (name, "integer"))
    return wider._replace(unique=False)


@st.composite
def _by_user(draw: Draw, relation: Relation) -> Relation:
    function = draw(st.sampled_from(sorted(USER_FUNCTIONS)))
    kind = {"sign": "string", "less one": "double", "halves": "double"}.get(function, "integer")
    sql = f"cast({draw(expressions(relation, 'integer', 0))} as {'double' if kind == 'double' else 'bigint'})"
    name = relation.new()
    return relation.over({"op": "user", "function": function, "sql": sql, "as": name}, (name, kind))


def _some_of(choices: list[Any], most: int) -> st.SearchStrategy[list[Any]]:
    """None where there is nothing to choose from."""
    return st.lists(st.sampled_from(choices), max_size=most, unique=True) if choices else st.just([])


@st.composite
def aggregates(draw: Draw, relation: Relation) -> list[tuple[str, str, str]]:
    """Names, kinds and SQL of one to three."""
    first = sum(name[0] == "a" for name in relation.names)
    kinds = [of for of in AGGREGATES if of in dict(relation.columns).values()]
    made = [(f"a{first}", "integer", "count(*)")] if not kinds or draw(st.booleans()) else []
    for i in range(first + len(made), first + len(made) + draw(st.integers(1 - len(made), 2 if kinds else 0))):
        kind = draw(st.sampled_from(kinds))
        function = draw(st.sampled_from(AGGREGATES[kind]))
        sql = f"{function}({draw(_argument(relation, kind))})"
        if relation.unique and draw(st.integers(0, 8)) == 8:
            sql, function = f"max_by({draw(_argument(relation, kind))}, id)", "max"
        elif draw(st.integers(0, 5)) == 5:
            sql += f" filter (where {draw(expressions(relation, 'boolean'))})"
        made.append((f"a{i}", OF.get(function, kind), sql))
    return made


def _argument(relation: Relation, kind: str) -> st.SearchStrategy[str]:
    named = st.sampled_from([name for name, of in relation.columns if of == kind])
    if kind in ("time", "double"):
        return named
    return named | expressions(relation, kind)


@st.composite
def keys(draw: Draw, relation: Relation) -> list[tuple[str, str, str]]:
    """What rows are grouped by: names, kinds and SQL."""
    names = draw(_some_of([c for c in relation.columns if c[1] in KINDS], 2))
    made = [(name, kind, name) for name, kind in names]
    if draw(st.integers(0, 3)) == 3:
        kind = draw(st.sampled_from(KINDS))
        name = "g1" if "g0" in relation.names else "g0"
        made.append((name, kind, draw(expressions(relation, kind))))
    return made


def _pairs(named: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    return [(name, sql) for name, _, sql in named]


def _kinds(named: list[tuple[str, str, str]]) -> Columns:
    return tuple((name, kind) for name, kind, _ in named)


@st.composite
def windows(draw: Draw, relation: Relation) -> Relation:
    plan = draw(_window_plan(relation))
    by, made = draw(keys(relation)), draw(aggregates(relation))
    found = plan | {"by": _pairs(by), "aggregates": _pairs(made), "of": relation.plan}
    return Relation(found, (("ts", "time"), ("start", "time"), *_kinds(by), *_kinds(made)))


@st.composite
def _window_plan(draw: Draw, relation: Relation) -> Plan:
    size = draw(st.sampled_from([10_000, 3_000, 60_000, 7_200_000]))
    slide = draw(st.sampled_from([size, size, size // 2, size // 3 + 1 if size < 10**6 else size // 3]))
    start = draw(st.sampled_from([0, 0, 1_000]))
    return {"op": "window", "size": size, "slide": slide, "start": min(start, slide - 1)}


@st.composite
def sessions(draw: Draw, relation: Relation) -> Relation:
    gaps = ["'5 seconds'", "'20 seconds'"]
    if "id" in relation.names:
        gaps.append("case when id % 2 = 0 then '3 seconds' else '15 seconds' end")
    by, made = draw(keys(relation)), draw(aggregates(relation))
    plan = {"op": "session", "gap": draw(st.sampled_from(gaps)), "by": _pairs(by), "aggregates": _pairs(made)}
    return Relation(plan | {"of": relation.plan}, (("start", "time"), ("end", "time"), *_kinds(by), *_kinds(made)))


@st.composite
def without_duplicates(draw: Draw, relation: Relation) -> Relation:
    some = draw(_some_of([name for name, kind in relation.columns if kind in KINDS], len(relation.columns)))
    columns = tuple(c for c in relation.columns if c[0] in some or c[0] == "ts")
    return Relation({"op": "dedup", "by": [name for name, _ in columns], "of": relation.plan}, columns)


@st.composite
def joins(draw: Draw, left: Relation, right: Relation, late: bool) -> Relation:
    common = [name for name in TYPES if name in left.names and name in right.names]
    if not common:
        return left
    hows = ["inner", "left_semi"] if late else ["inner", "left", "right", "full", "left_semi"]
    plan = {
        "op": "join",
        "how": draw(st.sampled_from(hows)),
        "keys": draw(st.lists(st.sampled_from(common), min_size=1, max_size=2, unique=True)),
        "before": draw(st.sampled_from([0, 5_000, 30_000])),
        "after": draw(st.sampled_from([0, 1_000, 20_000])),
        "also": draw(st.lists(st.sampled_from(_conditions(left, right)), max_size=1)),
        "left": left.plan,
        "right": right.plan,
    }
    theirs = (("r_at", "integer"), *((f"r_{name}", kind) for name, kind in right.columns if name != "ts"))
    return Relation(plan, left.columns if plan["how"] == "left_semi" else left.columns + theirs)


def _conditions(left: Relation, right: Relation) -> list[str]:
    found = ["l.ts <> r.ts"]
    for names, kinds, side in ((left.names, dict(left.columns), "l"), (right.names, dict(right.columns), "r")):
        found += [f"{side}.{name} > 0" for name in names if kinds[name] == "integer"]
    return found + [f"l.{n} < r.{m}" for n, m in zip(left.names, right.names, strict=False) if n == m and n != "ts"]

"""Aggregations that group the same rows by the same keys become one, which computes what any of them asks for.

Catalyst removes from each branch of a plan the columns that this branch does not need; what the user wrote once and
used twice is then two plans that differ in columns alone.

1. Two relations are aligned if one relation has the columns of both, row by row: they are equal, or the same step with
   the same meaning over aligned inputs. Columns are compared by what they are in the aligned input.
2. Of aligned aggregations each becomes a projection of the one that has all their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from headway.dataflow.expr import Column, Expr, moved
from headway.dataflow.graph import AggCall, Aggregate, Expand, Filter, Project, Relation, Watermark
from headway.dataflow.types import Field

Places = tuple[int, ...]
"""Where the columns of a relation are in an aligned one."""


class Aligned(NamedTuple):
    """A relation that has the rows of two others, and where their columns are in it."""

    relation: Relation
    one: Places
    other: Places


def simplified(root: Relation) -> Relation:
    """`root` with what is equal made the same object, and aligned aggregations computed once."""
    return _interned(shared(_interned(root, {})), {})


def _interned(relation: Relation, seen: dict[Relation, Relation]) -> Relation:
    relation = relation.over([_interned(below, seen) for below in relation.inputs])
    return seen.setdefault(relation, relation)


def shared(root: Relation) -> Relation:
    """`root` with aligned aggregations computed once. Equal sub-plans of it must be the same object."""
    while True:
        found = next(_found(list(_aggregates(root, set()))), None)
        if found is None:
            return root
        one, other, aligned = found
        instead = {
            id(one): _projected(one, aligned.relation, aligned.one),
            id(other): _projected(other, aligned.relation, aligned.other),
        }
        root = _replaced(root, instead)


def _found(aggregates: Sequence[Aggregate]) -> Iterator[tuple[Aggregate, Aggregate, Aligned]]:
    for one, other in combinations(aggregates, 2):
        aligned = _aligned(one, other)
        if aligned is not None:
            yield one, other, aligned


def _aggregates(relation: Relation, seen: set[int]) -> Iterator[Aggregate]:
    """Of the plan, the last first: to share one is to share those before it."""
    if id(relation) in seen:
        return
    seen.add(id(relation))
    if isinstance(relation, Aggregate):
        yield relation
    for below in relation.inputs:
        yield from _aggregates(below, seen)


def _projected(relation: Relation, of: Relation, places: Places) -> Relation:
    fields = zip(relation.schema, places, strict=True)
    return Project(relation.schema, of, tuple(Column(field.type, place) for field, place in fields))


def _replaced(relation: Relation, instead: dict[int, Relation]) -> Relation:
    """The plan with some relations replaced; equal sub-plans stay the same object."""
    if id(relation) not in instead:
        below = [_replaced(one, instead) for one in relation.inputs]
        same = all(new is old for new, old in zip(below, relation.inputs, strict=True))
        instead[id(relation)] = relation if same else relation.over(below)
    return instead[id(relation)]


def _aligned(one: Relation, other: Relation) -> Aligned | None:
    if one == other:
        every = tuple(range(len(one.schema)))
        return Aligned(one, every, every)
    if isinstance(one, Project) or isinstance(other, Project):
        return _projections(one, other)
    if isinstance(one, Filter) and isinstance(other, Filter):
        return _filters(one, other)
    if isinstance(one, Watermark) and isinstance(other, Watermark):
        return _watermarks(one, other)
    if isinstance(one, Expand) and isinstance(other, Expand):
        return _expansions(one, other)
    if isinstance(one, Aggregate) and isinstance(other, Aggregate):
        return _aggregations(one, other)
    return None


def _projections(one: Relation, other: Relation) -> Aligned | None:
    """A relation that is no projection is one of all its columns."""
    below = _aligned(*(r.input if isinstance(r, Project) else r for r in (one, other)))
    if below is None:
        return None
    exprs: dict[Expr, Field] = {}
    places = []
    for relation, to in ((one, below.one), (other, below.other)):
        mine = [moved(expr, to) for expr in _exprs(relation)]
        for expr, field in zip(mine, relation.schema, strict=True):
            exprs.setdefault(expr, field)
        places.append(tuple(list(exprs).index(expr) for expr in mine))
    return Aligned(Project(tuple(exprs.values()), below.relation, tuple(exprs)), *places)


def _exprs(relation: Relation) -> tuple[Expr, ...]:
    if isinstance(relation, Project):
        return relation.exprs
    return tuple(Column(field.type, i) for i, field in enumerate(relation.schema))


def _filters(one: Filter, other: Filter) -> Aligned | None:
    below = _aligned(one.input, other.input)
    if below is None or moved(one.condition, below.one) != moved(other.condition, below.other):
        return None
    relation = Filter(below.relation.schema, below.relation, moved(one.condition, below.one))
    return below._replace(relation=relation)


def _watermarks(one: Watermark, other: Watermark) -> Aligned | None:
    below = _aligned(one.input, other.input)
    if below is None or one.delay_us != other.delay_us or below.one[one.column] != below.other[other.column]:
        return None
    column = below.one[one.column]
    schema = list(below.relation.schema)
    schema[column] = one.schema[one.column]
    return below._replace(relation=Watermark(tuple(schema), below.relation, column, one.delay_us))


def _expansions(one: Expand, other: Expand) -> Aligned | None:
    below = _aligned(one.input, other.input)
    if below is None or len(one.projections) != len(other.projections):
        return None
    columns: dict[tuple[Expr, ...], Field] = {}
    places = []
    for relation, to in ((one, below.one), (other, below.other)):
        mine = [tuple(moved(expr, to) for expr in column) for column in zip(*relation.projections, strict=True)]
        for column, field in zip(mine, relation.schema, strict=True):
            columns.setdefault(column, field)
        places.append(tuple(list(columns).index(column) for column in mine))
    projections = tuple(zip(*columns, strict=True))
    return Aligned(Expand(tuple(columns.values()), below.relation, projections), *places)


def _aggregations(one: Aggregate, other: Aggregate) -> Aligned | None:
    if (one.event_key, one.session) != (other.event_key, other.session):
        return None
    below = _aligned(one.input, other.input)
    if below is None or _places(one.keys, below.one) != _places(other.keys, below.other):
        return None
    keys = tuple(Column(key.type, below.one[key.index]) for key in one.keys)
    fields, count = list(one.schema[: len(keys)]), len(keys)
    aggs: dict[AggCall, int] = {}
    places = []
    for relation, to in ((one, below.one), (other, below.other)):
        mine = [moved_call(call, to) for call in relation.aggs]
        for call, field in zip(mine, relation.schema[count:], strict=True):
            if call not in aggs:
                aggs[call] = len(fields)
                fields.append(field)
        places.append((*range(count), *(aggs[call] for call in mine)))
    relation = replace(one, schema=tuple(fields), input=below.relation, keys=keys, aggs=tuple(aggs))
    return Aligned(relation, *places)


def _places(columns: Sequence[Column], to: Places) -> list[int]:
    return [to[column.index] for column in columns]


def moved_call(call: AggCall, places: Mapping[int, int] | Places) -> AggCall:
    """A call of columns that are at other places."""
    condition = None if call.filter is None else moved(call.filter, places)
    return replace(call, args=tuple(moved(arg, places) for arg in call.args), filter=condition)

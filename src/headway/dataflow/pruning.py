"""Sources that can give fewer columns give those alone that somebody reads.

1. A column is read if an expression names it on the way, or if it comes to a relation that is not looked into here: one
   that keeps rows, hands them to the user's code, or is the result.
2. Filters, watermarks and joins with tables hand on the columns that they get, and so lose those that are not read.
3. Where none is read (rows are counted, say) the narrowest is left: it tells how many rows there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from headway.dataflow.expr import Column, Expr, moved, walk
from headway.dataflow.graph import Aggregate, Expand, Filter, Project, Relation, Source, StaticJoin, Watermark
from headway.dataflow.sharing import moved_call, simplified
from headway.dataflow.types import Schema, arrow_type

Places = Mapping[int, int]
"""Where the columns that are left of a relation are now."""


class Pruned(NamedTuple):
    """A plan of narrower sources; `narrowed` has for each of them what it was, and which columns of it are left."""

    plan: Relation
    narrowed: dict[Source, tuple[Source, tuple[int, ...]]]


def pruned(root: Relation, able: Collection[Source]) -> Pruned:
    """`root` with those of its sources narrowed that are able to be."""
    root = simplified(root)
    return _Pruning(root, able).result(root)


class _Pruning:
    def __init__(self, root: Relation, able: Collection[Source]) -> None:
        self._able = able
        self._read: dict[int, set[int]] = {id(root): set(range(len(root.schema)))}
        self._new: dict[int, tuple[Relation, Places | None]] = {}
        self._narrowed: dict[Source, tuple[Source, tuple[int, ...]]] = {}
        for relation in reversed(list(_upstream_first(root, set()))):
            for below, columns in zip(relation.inputs, _reads(relation, self._read[id(relation)]), strict=True):
                self._read.setdefault(id(below), set()).update(columns)

    def result(self, root: Relation) -> Pruned:
        return Pruned(self._of(root)[0], self._narrowed)

    def _of(self, relation: Relation) -> tuple[Relation, Places | None]:
        """A relation over narrower sources, and where its columns are; None: where they were."""
        if id(relation) not in self._new:
            self._new[id(relation)] = self._made(relation)
        return self._new[id(relation)]

    def _made(self, relation: Relation) -> tuple[Relation, Places | None]:
        if isinstance(relation, Source):
            return self._source(relation)
        below = [self._of(one) for one in relation.inputs]
        new, places = below[0]
        return (relation.over([one for one, _ in below]), None) if places is None else _moved(relation, new, places)

    def _source(self, source: Source) -> tuple[Relation, Places | None]:
        read = self._read[id(source)] or {_narrowest(source)}
        if source not in self._able or len(read) == len(source.schema):
            return source, None
        kept = tuple(sorted(read))
        new = replace(source, schema=tuple(source.schema[i] for i in kept), whole=source.schema)
        self._narrowed[new] = source, kept
        return new, {old: place for place, old in enumerate(kept)}


def _upstream_first(relation: Relation, seen: set[int]) -> Iterator[Relation]:
    if id(relation) not in seen:
        seen.add(id(relation))
        for below in relation.inputs:
            yield from _upstream_first(below, seen)
        yield relation


def _reads(relation: Relation, read: set[int]) -> list[set[int]]:
    """Of every input, the columns that a relation reads of which `read` is read."""
    match relation:
        case Filter():
            return [read | _columns([relation.condition])]
        case Watermark():
            return [read | {relation.column}]
        case Project():
            return [_columns(relation.exprs)]
        case Expand():
            return [_columns(expr for row in relation.projections for expr in row)]
        case Aggregate():
            filters = [call.filter for call in relation.aggs if call.filter is not None]
            return [_columns([*relation.keys, *(arg for call in relation.aggs for arg in call.args), *filters])]
        case StaticJoin():
            conditions = [] if relation.condition is None else [relation.condition]
            every = read | _columns([*relation.stream_keys, *conditions])
            return [{column for column in every if column < len(relation.input.schema)}]
    return [set(range(len(below.schema))) for below in relation.inputs]


def _columns(exprs: Iterable[Expr]) -> set[int]:
    return {part.index for expr in exprs for part in walk(expr) if isinstance(part, Column)}


def _moved(relation: Relation, below: Relation, places: Places) -> tuple[Relation, Places | None]:
    """A relation over an input that has lost columns, and where its own are."""
    match relation:
        case Filter():
            condition = moved(relation.condition, places)
            return replace(relation, schema=_left(relation, places), input=below, condition=condition), places
        case Watermark():
            column = places[relation.column]
            return replace(relation, schema=_left(relation, places), input=below, column=column), places
        case Project():
            exprs = tuple(moved(expr, places) for expr in relation.exprs)
            return replace(relation, input=below, exprs=exprs), None
        case Expand():
            rows = tuple(tuple(moved(expr, places) for expr in row) for row in relation.projections)
            return replace(relation, input=below, projections=rows), None
        case Aggregate():
            keys = tuple(Column(key.type, places[key.index]) for key in relation.keys)
            aggs = tuple(moved_call(call, places) for call in relation.aggs)
            return replace(relation, input=below, keys=keys, aggs=aggs), None
        case StaticJoin():
            return _moved_join(relation, below, places)
    raise AssertionError(f"{type(relation).__name__} reads all columns")


def _moved_join(join: StaticJoin, below: Relation, places: Places) -> tuple[Relation, Places]:
    """The table's columns come after the stream's, however many those are."""
    width = len(join.input.schema)
    behind = {old: len(places) + old - width for old in range(width, len(join.schema))}
    places = {**places, **behind}
    new = replace(
        join,
        schema=_left(join, places),
        input=below,
        stream_keys=tuple(moved(key, places) for key in join.stream_keys),
        condition=None if join.condition is None else moved(join.condition, places),
    )
    return new, places


def _left(relation: Relation, places: Places) -> Schema:
    return tuple(relation.schema[old] for old in places)


def _narrowest(source: Source) -> int:
    """The column that takes least; those of no fixed width take most."""

    def width(column: int) -> int:
        try:
            return int(arrow_type(source.schema[column].type).bit_width)
        except ValueError:
            return 1 << 20

    return min(range(len(source.schema)), key=width)

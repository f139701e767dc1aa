"""Aggregations that differ in what they compute alone become one."""

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import AggCall, Aggregate, Expand, Filter, Project, Relation, Source, Union, Watermark
from headway.dataflow.sharing import shared
from headway.dataflow.stages import MergeStage, cut
from headway.dataflow.types import Field

LONG = T.LongType()
TIME = Field("ts", T.TimestampType())
SCHEMA = (TIME, Field("k", LONG), Field("v", LONG), Field("w", LONG))
SOURCE = Source(SCHEMA, "rate", ())
DELAY = 5


def above(place: int, least: int = 0) -> Expr:
    return Call(T.BooleanType(), "GreaterThan", (Column(LONG, place), Literal(LONG, least)))


def pruned(*names: str, delay: int = DELAY, least: int = 0, copies: int = 1) -> Relation:
    """Rows above `least` by key, with event time, of which only the columns `names` are kept, as Catalyst does it."""
    places = [[field.name for field in SCHEMA].index(name) for name in ("ts", "k", *names)]
    schema = tuple(SCHEMA[place] for place in places)
    exprs = tuple(Column(SCHEMA[place].type, place) for place in places)
    kept = Filter(schema, Watermark(schema, Project(schema, SOURCE, exprs), 0, delay), above(1, least))
    every = tuple(Column(field.type, i) for i, field in enumerate(schema))
    return kept if copies == 1 else Expand(schema, kept, (every,) * copies)


def grouped(rows: Relation, *aggs: AggCall) -> Aggregate:
    fields = (TIME, Field("k", LONG), *(Field(f"a{i}", LONG) for i in range(len(aggs))))
    return Aggregate(fields, rows, (Column(TIME.type, 0), Column(LONG, 1)), aggs, event_key=0)


def summed(place: int) -> AggCall:
    return AggCall("sum", (Column(LONG, place),), LONG)


COUNT = AggCall("count", (), LONG)


def both(one: Relation, other: Relation) -> list[MergeStage]:
    """The aggregations that are left when both are used in one query."""
    stages = cut(Union(one.schema, (one, other)), frozenset({SOURCE}), "append")
    return [stage for stage in stages if isinstance(stage, MergeStage)]


def test_what_differs_in_columns_is_computed_once() -> None:
    merges = both(grouped(pruned("v"), summed(2)), grouped(pruned("w"), summed(2)))
    assert [len(merge.aggregate.aggs) for merge in merges] == [2]
    below = merges[0].aggregate.input
    assert [field.name for field in below.schema] == ["ts", "k", "v", "w"]
    assert [call.args for call in merges[0].aggregate.aggs] == [(Column(LONG, 2),), (Column(LONG, 3),)]


def test_results_are_where_they_were() -> None:
    one, other = grouped(pruned("v"), summed(2), COUNT), grouped(pruned("v", "w"), COUNT, summed(3))
    union = shared(Union(one.schema, (one, other)))
    first, second = union.inputs
    assert isinstance(first, Project)
    assert isinstance(second, Project)
    assert first.input is second.input
    assert first.schema == one.schema
    assert [e.index for e in first.exprs if isinstance(e, Column)] == [0, 1, 2, 3]
    assert [e.index for e in second.exprs if isinstance(e, Column)] == [0, 1, 3, 4]


def test_chained_aggregations_are_shared_together() -> None:
    def twice(name: str) -> Aggregate:
        inner = grouped(pruned(name), summed(2))
        return grouped(Filter(inner.schema, inner, above(1, 3)), summed(2))

    assert [len(merge.aggregate.aggs) for merge in both(twice("v"), twice("w"))] == [2, 2]


def test_copies_of_rows_are_shared_if_there_are_as_many() -> None:
    assert len(both(grouped(pruned("v", copies=3), summed(2)), grouped(pruned("w", copies=3), summed(2)))) == 1
    assert len(both(grouped(pruned("v", copies=3), summed(2)), grouped(pruned("w", copies=2), summed(2)))) == 2


def test_what_groups_other_rows_is_not_shared() -> None:
    one = grouped(pruned("v"), summed(2))
    for other in (pruned("w", least=1), pruned("w", delay=6)):
        assert len(both(one, grouped(other, summed(2)))) == 2


def test_what_groups_by_other_keys_is_not_shared() -> None:
    other = grouped(pruned("w"), summed(2))
    by_value = Aggregate(other.schema, other.input, (Column(TIME.type, 0), Column(LONG, 2)), (COUNT,), event_key=0)
    assert len(both(grouped(pruned("w"), COUNT), by_value)) == 2
    assert len(both(other, Aggregate(other.schema, other.input, other.keys, (COUNT,)))) == 2


def test_a_plan_with_nothing_to_share_is_the_same() -> None:
    root = grouped(pruned("v"), COUNT)
    assert shared(root) is root

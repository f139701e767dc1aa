"""Sources give the columns that are read, and every expression finds its own where they are now."""

import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import (
    AggCall,
    Aggregate,
    Deduplicate,
    Expand,
    Filter,
    Project,
    Relation,
    Source,
    StaticJoin,
    StaticTable,
    Union,
    Watermark,
)
from headway.dataflow.pruning import pruned
from headway.dataflow.types import Field

LONG, TIME = T.LongType(), T.TimestampType()
NAMES = ("a", "b", "ts", "d", "e")
SCHEMA = tuple(Field(name, TIME if name == "ts" else LONG) for name in NAMES)
SOURCE = Source(SCHEMA, "rate", ())
TABLE = StaticTable("t", pa.table({"k": [1], "x": [2]}))


def above(place: int) -> Expr:
    return Call(T.BooleanType(), "GreaterThan", (Column(LONG, place), Literal(LONG, 0)))


def select(below: Relation, *places: int) -> Project:
    schema = tuple(below.schema[place] for place in places)
    return Project(schema, below, tuple(Column(field.type, place) for field, place in zip(schema, places, strict=True)))


def left(root: Relation) -> list[str]:
    """The names of the columns that are left of the only source."""
    _, narrowed = pruned(root, {SOURCE})
    ((new, (old, columns)),) = narrowed.items()
    assert (old, new.whole) == (SOURCE, SCHEMA)
    assert [SCHEMA[i] for i in columns] == list(new.schema)
    return [field.name for field in new.schema]


def test_columns_are_found_where_they_are_through_filters_watermarks_and_joins() -> None:
    timed = Watermark(SCHEMA, Filter(SCHEMA, SOURCE, above(1)), 2, 7)
    wide = (*SCHEMA, Field("k", LONG), Field("x", LONG))
    join = StaticJoin(wide, timed, TABLE, (Column(LONG, 4),), (Column(LONG, 0),), "inner", above(6))
    root = select(join, 6, 2)
    plan, _ = pruned(root, {SOURCE})
    assert left(root) == ["b", "ts", "e"]
    assert isinstance(plan, Project)
    assert plan.exprs == (Column(LONG, 4), Column(TIME, 1))
    new = plan.input
    assert isinstance(new, StaticJoin)
    assert [field.name for field in new.schema] == ["b", "ts", "e", "k", "x"]
    assert (new.stream_keys, new.table_keys, new.condition) == ((Column(LONG, 2),), (Column(LONG, 0),), above(4))
    assert isinstance(new.input, Watermark)
    assert new.input.column == 1
    assert isinstance(new.input.input, Filter)
    assert new.input.input.condition == above(0)
    assert [field.name for field in new.input.input.schema] == ["b", "ts", "e"]
    assert plan.schema == root.schema


def test_aggregations_read_keys_arguments_and_filters() -> None:
    total = AggCall("sum", (Column(LONG, 3),), LONG, filter=above(4))
    root = Aggregate((SCHEMA[1], Field("s", LONG)), SOURCE, (Column(LONG, 1),), (total,))
    plan, _ = pruned(root, {SOURCE})
    assert left(root) == ["b", "d", "e"]
    assert isinstance(plan, Aggregate)
    assert plan.keys == (Column(LONG, 0),)
    assert plan.aggs == (AggCall("sum", (Column(LONG, 1),), LONG, filter=above(2)),)


def test_projections_that_multiply_rows_read_what_all_of_them_name() -> None:
    rows = ((Column(LONG, 3),), (Column(LONG, 0),))
    root = Expand((Field("n", LONG),), SOURCE, rows)
    plan, _ = pruned(root, {SOURCE})
    assert left(root) == ["a", "d"]
    assert isinstance(plan, Expand)
    assert plan.projections == ((Column(LONG, 1),), (Column(LONG, 0),))


def test_a_source_used_twice_gives_what_either_reads_and_stays_one() -> None:
    one, other = select(Filter(SCHEMA, SOURCE, above(0)), 1), select(SOURCE, 3)
    plan, narrowed = pruned(Union(one.schema, (one, other)), {SOURCE})
    (source,) = narrowed
    assert [field.name for field in source.schema] == ["a", "b", "d"]
    assert isinstance(plan, Union)
    first, second = plan.branches
    assert isinstance(first, Project)
    assert isinstance(first.input, Filter)
    assert isinstance(second, Project)
    assert first.input.input is second.input
    assert (first.exprs, second.exprs) == ((Column(LONG, 1),), (Column(LONG, 2),))


def test_the_result_and_what_keeps_rows_need_all_columns() -> None:
    for root in (SOURCE, Filter(SCHEMA, SOURCE, above(0)), Deduplicate(SCHEMA, (SOURCE,), ((0,),))):
        plan, narrowed = pruned(root, {SOURCE})
        assert (plan, narrowed) == (root, {})


def test_a_source_that_is_not_able_to_stays_as_it_is() -> None:
    root = select(SOURCE, 1)
    assert pruned(root, ()) == (root, {})


def test_rows_that_are_only_counted_keep_the_narrowest_column() -> None:
    schema = (Field("s", T.StringType()), Field("l", LONG), Field("i", T.IntegerType()))
    source = Source(schema, "rate", ())
    _, narrowed = pruned(Aggregate((Field("n", LONG),), source, (), (AggCall("count", (), LONG),)), {source})
    assert list(narrowed.values()) == [(source, (2,))]

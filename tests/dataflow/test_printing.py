"""The dataflow as text."""

import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Literal
from headway.dataflow.graph import (
    AggCall,
    Aggregate,
    Filter,
    Project,
    Source,
    StaticJoin,
    StaticTable,
    Union,
    Watermark,
)
from headway.dataflow.printing import describe, duration, expression, tree
from headway.dataflow.types import Field

LONG, TIME = T.LongType(), T.TimestampType()
SOURCE = Source((Field("t", TIME), Field("v", LONG)), "rate", (("rowspersecond", "5"),))
POSITIVE = Filter(SOURCE.schema, SOURCE, Call(T.BooleanType(), "GreaterThan", (Column(LONG, 1), Literal(LONG, 0))))


def test_inputs_are_below() -> None:
    counts = Aggregate(
        (Field("v", LONG), Field("n", LONG)),
        Watermark(POSITIVE.schema, POSITIVE, 0, 2_500_000),
        (Column(LONG, 1),),
        (AggCall("count", (), LONG),),
    )
    assert tree(counts).splitlines() == [
        "Aggregate by [v] [count(*) AS n]",
        "+- Watermark t, 2500 ms behind",
        "   +- Filter GreaterThan(v, 0)",
        "      +- Source rate [t: timestamp, v: bigint] {rowspersecond=5}",
    ]


def test_what_is_shared_is_shown_once() -> None:
    assert tree(Union(SOURCE.schema, (SOURCE, POSITIVE))).splitlines() == [
        "Union",
        ":- [1] Source rate [t: timestamp, v: bigint] {rowspersecond=5}",
        "+- Filter GreaterThan(v, 0)",
        "   +- [1] as above",
    ]


def test_notes() -> None:
    text = tree(POSITIVE, lambda relation: "compiled" if isinstance(relation, Filter) else None)
    assert text.splitlines()[0] == "Filter GreaterThan(v, 0)  <- compiled"
    assert text.splitlines()[1].endswith("{rowspersecond=5}")


def test_names_that_repeat_have_positions() -> None:
    twice = (Field("v", LONG), Field("v", LONG), Field("w", LONG))
    assert expression(Call(LONG, "Add", (Column(LONG, 1), Column(LONG, 2))), twice) == "Add(v#1, w)"


def test_a_static_join_names_the_columns_of_both_sides() -> None:
    table = StaticTable("f", pa.table({"id": [1, 2]}))
    fields = (*SOURCE.schema, Field("id", LONG))
    condition = Call(T.BooleanType(), "LessThan", (Column(LONG, 1), Column(LONG, 2)))
    join = StaticJoin(fields, SOURCE, table, (Column(LONG, 1),), (Column(LONG, 0),), "left", condition)
    assert describe(join) == "StaticJoin left on v = id, LessThan(v, id), 2 rows"


def test_windows_and_their_bounds() -> None:
    struct = T.StructType([T.StructField("start", TIME), T.StructField("end", TIME)])
    options = (("duration", 10_000_000), ("slide", 5_000_000), ("offset", 1_000), ("index", 1))
    window = Call(struct, "TimeWindow", (Column(TIME, 0),), options)
    end = Call(TIME, "GetStructField", (window,), (("ordinal", 1),))
    project = Project((Field("end", TIME),), SOURCE, (end,))
    assert describe(project) == "Project [TimeWindow(t, 10 s, every 5 s, 1 back, from 1 ms).end AS end]"


def test_durations_are_in_the_largest_unit_that_divides_them() -> None:
    assert [duration(us) for us in (0, 7, 90_000_000, 3_600_000_000)] == ["0 h", "7 us", "90 s", "1 h"]

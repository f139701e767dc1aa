"""How relations are cut into stages."""

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Literal
from headway.dataflow.graph import AggCall, Aggregate, Expand, Filter, Project, Relation, Source, Union, Watermark
from headway.dataflow.stages import ChainStage, InlineStage, MergeStage, PlanStage, ReadStage, SinkStage, Stage, cut
from headway.dataflow.types import Field

LONG = T.LongType()
SCHEMA = (Field("ts", T.TimestampType()), Field("v", LONG))
SOURCE = Source(SCHEMA, "rate", ())
POSITIVE = Call(T.BooleanType(), "GreaterThan", (Column(LONG, 1), Literal(LONG, 0)))


def filtered(relation: Relation) -> Filter:
    return Filter(relation.schema, relation, POSITIVE)


def counted(relation: Relation, keys: int = 1) -> Aggregate:
    fields = (Field("v", LONG),) * keys + (Field("n", LONG),)
    return Aggregate(fields, relation, (Column(LONG, 1),) * keys, (AggCall("count", (), LONG),))


def kinds(stages: tuple[Stage, ...]) -> list[type[Stage]]:
    return [type(stage) for stage in stages]


def test_stateless_steps_are_one_chain() -> None:
    root = Project(SCHEMA, filtered(Watermark(SCHEMA, SOURCE, 0, 0)), (Column(T.TimestampType(), 0), Column(LONG, 1)))
    stages = cut(root, frozenset({SOURCE}), "append")
    assert kinds(stages) == [InlineStage, ChainStage, SinkStage]
    assert isinstance(stages[1], ChainStage)
    assert [type(step) for step in stages[1].chain.steps] == [Watermark, Filter, Project]


def test_steps_that_are_not_fused_are_stages() -> None:
    root = counted(filtered(Watermark(SCHEMA, SOURCE, 0, 0)))
    stages = cut(root, frozenset({SOURCE}), "append", fuse=False)
    assert kinds(stages) == [InlineStage, ChainStage, ChainStage, ChainStage, MergeStage, SinkStage]
    chains = [stage.chain for stage in stages if isinstance(stage, ChainStage)]
    assert [[type(step) for step in chain.steps] for chain in chains] == [[Watermark], [Filter], []]
    assert [chain.aggregate is None for chain in chains] == [True, True, False]


def test_a_planned_source_is_planned_once_and_read_everywhere() -> None:
    stages = cut(filtered(SOURCE), frozenset(), "append")
    assert kinds(stages) == [PlanStage, ReadStage, ChainStage, SinkStage]
    assert [stage.placement for stage in stages] == ["one", "everywhere", "everywhere", "everywhere"]
    assert stages[1].inputs[0].kind == "spread"


def test_an_aggregation_is_two_steps() -> None:
    stages = cut(counted(filtered(SOURCE)), frozenset({SOURCE}), "update")
    assert kinds(stages) == [InlineStage, ChainStage, MergeStage, SinkStage]
    assert isinstance(stages[1], ChainStage)
    assert stages[1].chain.aggregate is not None
    assert stages[2].inputs[0].kind == "by_key"
    assert stages[2].placement == "everywhere"


def test_one_operator_merges_what_must_come_out_whole() -> None:
    for root, mode in ((counted(SOURCE), "complete"), (counted(SOURCE, keys=0), "update")):
        stages = cut(root, frozenset({SOURCE}), mode)
        assert [stage.placement for stage in stages[-2:]] == ["one", "one"]


def test_a_stream_used_twice_is_read_once() -> None:
    twice = Union(SCHEMA, (filtered(SOURCE), filtered(Source(SCHEMA, "rate", ()))))
    stages = cut(twice, frozenset({SOURCE}), "append")
    assert kinds(stages).count(InlineStage) == 1
    both = [stage for stage in stages if len(stage.inputs) == 2]
    assert len(both) == 1
    assert both[0].inputs[0] == both[0].inputs[1]


def test_a_shared_step_is_a_stage_of_its_own() -> None:
    shared = filtered(SOURCE)
    root = Union(SCHEMA, (filtered(shared), shared))
    stages = cut(root, frozenset({SOURCE}), "append")
    chains = [stage for stage in stages if isinstance(stage, ChainStage)]
    assert sum(len(stage.chain.steps) for stage in chains) == 2


def test_a_second_watermark_begins_a_new_chain() -> None:
    root = Watermark(SCHEMA, Watermark(SCHEMA, SOURCE, 0, 5), 0, 10)
    stages = cut(root, frozenset({SOURCE}), "append")
    assert kinds(stages) == [InlineStage, ChainStage, ChainStage, SinkStage]


def test_rows_that_are_cheaply_multiplied_are_made_where_they_are_used() -> None:
    every = tuple(Column(field.type, i) for i, field in enumerate(SCHEMA))
    expanded = Expand(SCHEMA, filtered(Watermark(SCHEMA, SOURCE, 0, 0)), (every, every))
    root = Union(SCHEMA, (counted(expanded), counted(filtered(expanded))))
    chains = [s for s in cut(root, frozenset({SOURCE}), "append") if isinstance(s, ChainStage) and s.chain.aggregate]
    steps = [[type(step) for step in stage.chain.steps] for stage in chains]
    assert steps == [[Watermark, Filter, Expand], [Watermark, Filter, Expand, Filter]]
    assert [stage.inputs[0].upstream for stage in chains] == [0, 0]

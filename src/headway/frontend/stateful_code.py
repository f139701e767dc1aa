"""Lowering of applyInPandasWithState, transformWithState and transformWithStateInPandas."""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Column
from headway.dataflow.types import arrow_schema
from headway.dataflow.user_code import GroupsWithState, TransformWithState, UserFunction
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Lowered, PlanLowering, attribute, expr_id, lowers_relation
from headway.frontend.static import static_side
from headway.frontend.user_code import user_function, worker_settings
from headway.kernels.user_code.worker import command

_MODES = {
    "NoTimeout": "none",
    "ProcessingTimeTimeout": "processing",
    "EventTimeTimeout": "event",
    "NoTime": "none",
    "ProcessingTime": "processing",
    "EventTime": "event",
}


@lowers_relation("FlatMapGroupsInPandasWithState")
def _with_state(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    tree = node.expression("functionExpr")
    function = user_function(lower.plan, tree, node.jvm.functionExpr(), lower.expressions(below))
    mode, time = _mode(node, "timeout"), _event_time(below)
    state_type = spark_type(node.tree.fields["stateType"])
    assert isinstance(state_type, T.StructType)
    output = [attribute(out) for out in node.expressions("outputAttrs")]
    relation = GroupsWithState(
        schema=tuple(out for out, _ in output),
        streams=(below.relation,),
        keys=(tuple(below.ids.index(expr_id(key)) for key in node.expressions("groupingAttributes")),),
        eval_type=tree.fields["evalType"],
        settings=worker_settings(lower.plan),
        function=function,
        values=_columns(function),
        time=time if mode == "event" else None,
        time_mode=mode,
        state_type=state_type,
        watermarked=time is not None,
    )
    arrow_schema(relation.schema)
    return Lowered(lower.intern(relation), tuple(id_ for _, id_ in output))


@lowers_relation("TransformWithStateInPySpark")
def _transform(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    tree = node.expression("functionExpr")
    function = user_function(lower.plan, tree, node.jvm.functionExpr(), lower.expressions(below))
    mode = _mode(node, "timeMode")
    width = node.tree.fields["groupingAttributesLen"]
    initial = static_side(node.children[1], lower) if node.tree.fields["hasInitialState"] else None
    output = [attribute(out) for out in node.expressions("outputAttrs")]
    relation = TransformWithState(
        schema=tuple(out for out, _ in output),
        streams=(below.relation,),
        keys=(tuple(range(width)),),
        eval_type=tree.fields["evalType"],
        settings=worker_settings(lower.plan),
        function=function,
        values=tuple(range(width, len(below.schema))),
        time=_event_time(below) if mode == "event" else None,
        time_mode=mode,
        schemas=_schemas(function),
        initial=None if initial is None else initial.table,
        initial_schema=() if initial is None else initial.schema,
    )
    arrow_schema(relation.schema)
    return Lowered(lower.intern(relation), tuple(id_ for _, id_ in output))


def _mode(node: PlanNode, field: str) -> str:
    name = node.tree.fields[field]["object"].rstrip("$").rsplit(".", 1)[-1]
    return _MODES[name]


def _event_time(below: Lowered) -> int | None:
    return next((i for i, f in enumerate(below.schema) if f.event_time), None)


def _columns(function: UserFunction) -> tuple[int, ...]:
    assert all(isinstance(arg, Column) for arg in function.args)
    return tuple(arg.index for arg in function.args if isinstance(arg, Column))


def _schemas(function: UserFunction) -> tuple[tuple[str, str], ...]:
    """The schemas that the processor writes as DDL, which only the driver can read: as in Spark, its `init` is called
    here once, and then `close`."""
    processor = command(function).__self__._stateful_processor  # type: ignore[attr-defined]
    written = Written()
    processor.init(written)
    processor.close()
    return tuple(sorted(written.schemas.items()))


class Written:
    """A handle that only takes down which schemas are asked for."""

    def __init__(self) -> None:
        self.schemas: dict[str, str] = {}

    def _take(self, *schemas: T.StructType | str) -> None:
        for schema in schemas:
            if isinstance(schema, str):
                self.schemas[schema] = T.StructType.fromDDL(schema).json()

    def getValueState(self, stateName: str, schema: T.StructType | str, ttlDurationMs: int | None = None) -> None:
        self._take(schema)

    def getListState(self, stateName: str, schema: T.StructType | str, ttlDurationMs: int | None = None) -> None:
        self._take(schema)

    def getMapState(
        self,
        stateName: str,
        userKeySchema: T.StructType | str,
        valueSchema: T.StructType | str,
        ttlDurationMs: int | None = None,
    ) -> None:
        self._take(userKeySchema, valueSchema)

    def deleteIfExists(self, stateName: str) -> None:
        """There is nothing yet."""

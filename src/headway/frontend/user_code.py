"""Lowering of functions of the user's: the nodes into which Catalyst's optimizer gathers Python UDFs, and mapIn….

Calls that Catalyst gathers are evaluated for every row that comes in, also where a condition around them does not
need them: so it is in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.dataflow.expr import Expr
from headway.dataflow.types import arrow_schema
from headway.dataflow.user_code import EvalPython, MapBatches, UserFunction
from headway.errors import UnsupportedPlan
from headway.frontend.expressions import Lowering
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.plan import Plan, PlanNode
from headway.frontend.relations import Lowered, PlanLowering, attribute, lowers_relation
from headway.frontend.tree import Tree
from headway.gateway import jvm_method, options_of

Settings = tuple[tuple[str, str], ...]
_BATCH_SIZE = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ACCUMULATOR = b"_deserialize_accumulator"


@lowers_relation("ArrowEvalPython", "BatchEvalPython")
def _eval(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    expressions = lower.expressions(below)
    trees = node.expressions("udfs")
    udfs = node.jvm.udfs()
    functions = tuple(user_function(lower.plan, tree, udfs.apply(i), expressions) for i, tree in enumerate(trees))
    output = [attribute(tree) for tree in node.expressions("resultAttrs")]
    schema = below.schema + tuple(out for out, _ in output)
    arrow_schema(schema)
    eval_type = trees[0].fields["evalType"]
    relation = EvalPython(schema, below.relation, eval_type, worker_settings(lower.plan), functions)
    return Lowered(lower.intern(relation), below.ids + tuple(id_ for _, id_ in output))


@lowers_relation("MapInPandas", "MapInArrow")
def _map(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    if node.tree.fields["isBarrier"]:
        raise UnsupportedPlan(f"plan node {node.name}", "barrier mode is not supported")
    tree = node.expression("functionExpr")
    function = user_function(lower.plan, tree, node.jvm.functionExpr(), lower.expressions(below))
    output = [attribute(tree) for tree in node.expressions("output")]
    schema = tuple(out for out, _ in output)
    arrow_schema(schema)
    relation = MapBatches(schema, below.relation, tree.fields["evalType"], worker_settings(lower.plan), function)
    return Lowered(lower.intern(relation), tuple(id_ for _, id_ in output))


def user_function(plan: Plan, tree: Tree, jvm: Any, expressions: Lowering) -> UserFunction:
    """The function in a PythonUDF expression, with those whose result it is applied to."""
    commands: list[bytes] = []
    broadcasts: dict[int, bytes] = {}
    innermost = tree
    for innermost, function in _applied(tree, jvm):
        commands.insert(0, _command(plan, innermost.fields["name"], function))
        broadcasts.update(_broadcasts(plan, function))
    keywords, args = _arguments(innermost, expressions)
    return UserFunction(
        name=tree.fields["name"],
        commands=tuple(commands),
        args=args,
        keywords=keywords,
        type=spark_type(tree.fields["dataType"]),
        broadcasts=tuple(sorted(broadcasts.items())),
        identity=None if tree.fields["udfDeterministic"] else int(tree.fields["resultId"]["id"]),
    )


def _applied(tree: Tree, jvm: Any) -> Iterator[tuple[Tree, Any]]:
    """A UDF, then the one it is applied to, if its only argument is another's result."""
    yield tree, jvm.func()
    if len(tree.children) == 1 and tree.children[0].name == "PythonUDF":
        yield from _applied(tree.children[0], jvm.children().apply(0))


def _arguments(tree: Tree, expressions: Lowering) -> tuple[tuple[str | None, ...], tuple[Expr, ...]]:
    named = [child.name == "NamedArgumentExpression" for child in tree.children]
    keywords = tuple(c.fields["key"] if is_named else None for c, is_named in zip(tree.children, named, strict=True))
    values = (c.children[0] if is_named else c for c, is_named in zip(tree.children, named, strict=True))
    return keywords, tuple(map(expressions, values))


def _command(plan: Plan, name: str, function: Any) -> bytes:
    as_byte = jvm_method(plan.spark, "scala.reflect.ClassTag", "Byte")()
    command = bytes(function.command().toArray(as_byte))
    if _ACCUMULATOR in command:
        raise UnsupportedPlan(f"function {name}", "it uses an accumulator, and a node's task never ends to report it")
    return command


def _broadcasts(plan: Plan, function: Any) -> Iterator[tuple[int, bytes]]:
    variables = function.broadcastVars()
    for at in range(variables.size()):
        if plan.spark.sparkContext._encryption_enabled:
            raise UnsupportedPlan("broadcast variable", "spark.io.encryption.enabled hides it from Headway")
        yield int(variables.get(at).id()), Path(variables.get(at).value().path()).read_bytes()


def worker_settings(plan: Plan) -> Settings:
    """What Spark tells a Python worker of the session."""
    session = plan.spark._jsparkSession.sessionState().conf()
    runner = "org.apache.spark.sql.execution.python.ArrowPythonRunner"
    as_java = jvm_method(plan.spark, "scala.jdk.javaapi.CollectionConverters", "asJava")
    told = options_of(plan.spark, as_java(jvm_method(plan.spark, runner, "getPythonRunnerConfMap")(session)))
    told[_BATCH_SIZE] = str(plan.spark.conf.get(_BATCH_SIZE))
    return tuple(sorted(told.items()))

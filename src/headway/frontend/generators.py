"""Lowering of Generate: rows that an array or a map of each row makes.

Every generator becomes an array of structs, one struct for each row it makes, so that one relation serves them all.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.dataflow.graph import Generate
from headway.frontend.expressions.collections import common_type
from headway.frontend.expressions.refusals import unsupported
from headway.frontend.expressions.simple import constant
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Expressions, Lowered, PlanLowering, attribute, lowers_relation
from headway.frontend.tree import Tree

Generator = Callable[[Tree, Expressions], Expr]
_GENERATORS: dict[str, Generator] = {}


def lowers_generator(*names: str) -> Callable[[Generator], Generator]:
    """Register a function for the Catalyst generators `names`; it gives an array of structs, a row each."""

    def register(function: Generator) -> Generator:
        _GENERATORS.update(dict.fromkeys(names, function))
        return function

    return register


@lowers_relation("Generate")
def _generate(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    tree = node.expression("generator")
    found = _GENERATORS.get(tree.name)
    if found is None:
        raise unsupported("generator", tree.name)
    rows = found(tree, lower.expressions(below))
    output = [attribute(parsed) for parsed in node.expressions("generatorOutput")]
    unneeded = set(_integers(node, "unrequiredChildIndex"))
    kept = tuple(i for i in range(len(below.ids)) if i not in unneeded)
    schema = tuple(below.schema[i] for i in kept) + tuple(f._replace(nullable=True) for f, _ in output)
    relation = Generate(schema, below.relation, rows, kept, bool(node.tree.fields["outer"]))
    return Lowered(lower.intern(relation), tuple(below.ids[i] for i in kept) + tuple(id_ for _, id_ in output))


def _integers(node: PlanNode, field: str) -> list[int]:
    """A field that the plan's JSON leaves out."""
    values = getattr(node.jvm, field)()
    return [values.apply(i) for i in range(values.size())]


@lowers_generator("Explode", "PosExplode")
def _explode(tree: Tree, lowering: Expressions) -> Expr:
    of = lowering(tree.children[0])
    fields = [T.StructField("pos", T.IntegerType())] if tree.name == "PosExplode" else []
    if isinstance(of.type, T.MapType):
        fields += [T.StructField("key", of.type.keyType), T.StructField("value", of.type.valueType)]
    else:
        assert isinstance(of.type, T.ArrayType)
        fields.append(T.StructField("col", of.type.elementType))
    return Call(T.ArrayType(T.StructType(fields)), "Exploded", (of,), (("positions", tree.name == "PosExplode"),))


@lowers_generator("JsonTuple")
def _json_tuple(tree: Tree, lowering: Expressions) -> Expr:
    text, *names = (lowering(child) for child in tree.children)
    wanted = tuple(constant(tree, "field", name) for name in names)
    struct = T.StructType([T.StructField(f"c{i}", T.StringType()) for i in range(len(wanted))])
    return Call(T.ArrayType(struct), "JsonTuple", (text,), (("names", wanted),))


@lowers_generator("Inline")
def _inline(tree: Tree, lowering: Expressions) -> Expr:
    return lowering(tree.children[0])


@lowers_generator("Stack")
def _stack(tree: Tree, lowering: Expressions) -> Expr:
    count, *values = (lowering(child) for child in tree.children)
    assert isinstance(count, Literal)
    rows = int(count.value)
    width = -(-len(values) // rows)
    columns = [common_type(tuple(values[i::width])) for i in range(width)]
    struct = T.StructType([T.StructField(f"col{i}", kind) for i, kind in enumerate(columns)])
    values += [Literal(columns[i % width], None) for i in range(len(values), rows * width)]
    made = [
        Call(struct, "CreateNamedStruct", _typed(values[r * width : (r + 1) * width], columns)) for r in range(rows)
    ]
    return Call(T.ArrayType(struct), "CreateArray", tuple(made))


def _typed(values: list[Expr], kinds: list[T.DataType]) -> tuple[Expr, ...]:
    return tuple(Literal(k, None) if isinstance(v.type, T.NullType) else v for v, k in zip(values, kinds, strict=True))


def known() -> frozenset[str]:
    """The names of all generators that can be lowered."""
    return frozenset(_GENERATORS)

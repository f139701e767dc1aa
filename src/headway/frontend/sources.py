"""Lowering of a plan's leaves: the streams that Spark's `readStream` made."""

from __future__ import annotations

from pyspark.sql import types as T

from headway.connectors.kafka.data_source import KAFKA_FORMAT
from headway.connectors.python_source import python_data_source
from headway.connectors.sources.files.metadata import FACTS, METADATA
from headway.dataflow.graph import Source
from headway.dataflow.types import Field, arrow_schema
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.files import FILE_ID, FILE_TYPE
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Lowered, PlanLowering, attribute, lowers_relation
from headway.frontend.tree import Tree
from headway.gateway import jvm_method, options_of

_HIDDEN = "__file_source_metadata_col"
"""What Spark says of that column; the plan's JSON does not have it."""


@lowers_relation("StreamingRelationV2")
def _source(node: PlanNode, lower: PlanLowering) -> Lowered:
    fields = node.tree.fields
    if "catalog" in fields or "identifier" in fields:
        raise UnsupportedPlan("plan node StreamingRelationV2", "a stream of a catalog's table is not supported")
    name = fields["sourceName"]
    options = options_of(lower.plan.spark, node.jvm.extraOptions().asCaseSensitiveMap())
    if name.lower() == KAFKA_FORMAT:
        # The same stream as that of Spark's own connector, and a checkpoint of one serves the other.
        return _lowered(node, lower, "kafka", options, b"")
    payload = python_data_source(lower.plan.spark, name) or b""
    return _lowered(node, lower, name, options, payload)


@lowers_relation("StreamingRelation")
def _file_source(node: PlanNode, lower: PlanLowering) -> Lowered:
    """A source of Spark's first interface: files."""
    source = node.jvm.dataSource()
    as_java = jvm_method(lower.plan.spark, "scala.jdk.javaapi.CollectionConverters", "asJava")
    options = options_of(lower.plan.spark, as_java(source.options()))
    return _lowered(node, lower, source.className(), options, b"", files=True)


def _lowered(
    node: PlanNode, lower: PlanLowering, name: str, options: dict[str, str], payload: bytes, files: bool = False
) -> Lowered:
    output = [_attribute(node, at, tree) for at, tree in enumerate(node.expressions("output"))]
    if files and lower.plan.file_names:
        output.append((Field(METADATA, FILE_TYPE, False), FILE_ID))
    schema = tuple(field for field, _ in output)
    arrow_schema(schema)
    for field in schema:
        if "interval" in field.type.simpleString():
            raise UnsupportedPlan(
                f"type {field.type.simpleString()} of column {field.name}", "no source gives intervals"
            )
    lower_case = tuple(sorted((key.lower(), str(value)) for key, value in options.items()))
    source = Source(schema, name.lower(), lower_case, payload)
    return Lowered(lower.intern(source), tuple(id_ for _, id_ in output))


def _attribute(node: PlanNode, at: int, tree: Tree) -> tuple[Field, int]:
    """A column of a source; the hidden one of files gets a name of its own, for files may have a column _metadata."""
    field, id_ = attribute(tree)
    if field.name != "_metadata" or not node.jvm.output().apply(at).metadata().contains(_HIDDEN):
        return field, id_
    unknown = {part.name for part in field.type.fields} - FACTS if isinstance(field.type, T.StructType) else set()
    if unknown:
        raise UnsupportedPlan("column _metadata", f"nothing is known of {', '.join(sorted(unknown))}")
    return field._replace(name=METADATA), id_

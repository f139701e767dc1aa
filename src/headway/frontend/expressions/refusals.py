"""Why some expressions and plan nodes of Catalyst's are not lowered; what has no entry has no implementation yet."""

from __future__ import annotations

from headway.errors import UnsupportedPlan

_SCAN = "it tells of Spark's own reading of files"
_VARIANT = "the variant type has no native form"
_SKETCHES = "sketches of DataSketches have no native form"
_CIPHERS = "it needs a library of ciphers, which Headway does not depend on"
_XML = "XML has no native implementation"
_TIME = "the type TIME has no native form"

EXPRESSIONS = {
    "SparkPartitionID": "it depends on Spark's partitions",
    "MonotonicallyIncreasingID": "Spark refuses it on streams too",
    **dict.fromkeys(("InputFileBlockStart", "InputFileBlockLength"), _SCAN),
    **dict.fromkeys(("VariantGet", "ToVariantObject", "SchemaOfVariant", "VariantExplode"), _VARIANT),
    **dict.fromkeys(("HllSketchAgg", "HllUnionAgg", "HllSketchEstimate", "HllUnion"), _SKETCHES),
    **dict.fromkeys(("ExpressionImplUtils.aesEncrypt", "ExpressionImplUtils.aesDecrypt"), _CIPHERS),
    "ExpressionImplUtils.getSentences": "it depends on Java's rules of what a sentence is",
    **dict.fromkeys(("XmlToStructs", "StructsToXml", "SchemaOfXml"), _XML),
    "CallMethodViaReflection": "it calls a method of the JVM's",
    "Collate": "collations have no native implementation",
    "MapSort": "maps as keys have no native implementation",
    "MakeInterval": "added to a timestamp it is native; as a column of its own it has no native form",
}
PLAN_NODES = dict.fromkeys(
    [
        *("FlatMapGroupsWithState", "TransformWithState", "MapPartitions", "MapElements"),
        *("SerializeFromObject", "DeserializeToObject"),
    ],
    "it runs code of the JVM's",
) | {"FlatMapGroupsInPandas": "it is called for the groups of a micro-batch, and there is none"}
METHODS = {
    "VariantExpressionEvalUtils": _VARIANT,
    "STUtils": "geometry types have no native form",
    "DateTimeUtils": _TIME,
}


def why_not(name: str) -> str | None:
    """The reason for an expression class, a plan node or a method ("class.method"); None if there is none."""
    return EXPRESSIONS.get(name) or PLAN_NODES.get(name) or METHODS.get(name.split(".")[0])


def unsupported(kind: str, name: str) -> UnsupportedPlan:
    """The error that says that there is no native `kind` called `name`, and why."""
    why = why_not(name)
    return UnsupportedPlan(f"{kind} {name}", *(() if why is None else (why,)))

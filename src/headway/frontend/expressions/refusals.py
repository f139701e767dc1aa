"""Why some of Catalyst's expressions are not lowered, in words; what has no entry merely has no implementation yet."""

from __future__ import annotations

_SCAN = "it tells of Spark's own reading of files"
_VARIANT = "the variant type has no native form"
_XML = "XML has no native implementation"
_TIME = "the type TIME has no native form"

EXPRESSIONS = {
    "SparkPartitionID": "it depends on Spark's partitions",
    "MonotonicallyIncreasingID": "Spark refuses it on streams too",
    **dict.fromkeys(("InputFileBlockStart", "InputFileBlockLength"), _SCAN),
    **dict.fromkeys(("VariantGet", "ToVariantObject", "SchemaOfVariant"), _VARIANT),
    **dict.fromkeys(("XmlToStructs", "StructsToXml", "SchemaOfXml"), _XML),
    "CallMethodViaReflection": "it calls a method of the JVM's",
    "Collate": "collations have no native implementation",
    "MapSort": "maps as keys have no native implementation",
    "MakeInterval": "intervals that mix months and days have no native form",
}
METHODS = {
    "VariantExpressionEvalUtils": _VARIANT,
    "STUtils": "geometry types have no native form",
    "DateTimeUtils": _TIME,
}


def why_not(name: str) -> str | None:
    """The reason for an expression class, or for a method ("class.method"); None if there is none in particular."""
    return EXPRESSIONS.get(name) or METHODS.get(name.split(".")[0])

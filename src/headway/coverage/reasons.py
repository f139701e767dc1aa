"""Why some of Spark's plan nodes and functions are not native, in words, and which plan nodes streams may have."""

from __future__ import annotations

PLAN_NODES = {
    "StreamingRelation": "`spark.readStream` of files",
    "StreamingRelationV2": "`spark.readStream` of all other sources",
    "Project": "`select`, `withColumn`, …",
    "Filter": "`where`",
    "SubqueryAlias": "`alias`",
    "View": "views of streams",
    "Repartition": "`repartition`, `coalesce`",
    "RepartitionByExpression": "`repartition` by columns",
    "RebalancePartitions": "the hint `rebalance`",
    "Expand": "`window` that overlaps, `rollup`, `cube`, `unpivot`",
    "Generate": "`explode`, `posexplode`, `inline`, `stack`, `json_tuple`",
    "Union": "`union`",
    "Join": "`join`, `IN` and `EXISTS` with a subquery",
    "Aggregate": "`groupBy`, `agg`",
    "EventTimeWatermark": "`withWatermark`",
    "Deduplicate": "`dropDuplicates`",
    "DeduplicateWithinWatermark": "`dropDuplicatesWithinWatermark`",
    "Sort": "`orderBy` after an aggregation, complete mode",
    "GlobalLimit": "`limit`",
    "LocalLimit": "`limit`",
    "CollectMetrics": "`observe`",
    "BatchEvalPython": "Python UDFs",
    "ArrowEvalPython": "pandas and Arrow UDFs",
    "MapInPandas": "`mapInPandas`",
    "MapInArrow": "`mapInArrow`",
    "FlatMapGroupsInPandas": "`applyInPandas`",
    "FlatMapGroupsInPandasWithState": "`applyInPandasWithState`",
    "TransformWithStateInPySpark": "`transformWithState`, `transformWithStateInPandas`",
    "FlatMapGroupsWithState": "`flatMapGroupsWithState` (Scala, Java)",
    "TransformWithState": "`transformWithState` (Scala, Java)",
    "MapPartitions": "`mapPartitions` (Scala, Java)",
    "MapElements": "`map` (Scala, Java)",
    "SerializeFromObject": "typed operations (Scala, Java)",
    "DeserializeToObject": "typed operations (Scala, Java)",
}
BY_GROUP = {
    "window_funcs": "Spark does not run window functions on streams",
    "variant_funcs": "the variant type has no native form",
    "xml_funcs": "XML has no native implementation",
    "st_funcs": "geometry types have no native form",
    "sketch_funcs": "sketches of DataSketches have no native form",
    "avro_funcs": "Avro has no native implementation",
    "protobuf_funcs": "Protobuf has no native implementation",
}
CLOCKS = frozenset({"now", "current_timestamp", "current_date", "curdate", "localtimestamp"})
"""In a batch the optimizer makes constants of them; on a stream they are this class."""
CLOCK_CLASS = "CurrentBatchTimestamp"
NO_FUNCTIONS = {
    **dict.fromkeys(("current_time", "localtime"), "the type TIME has no native form"),
    **dict.fromkeys(("range", "collations", "sql_keywords", "python_worker_logs"), "it is a table, not a stream"),
    "measure": "it belongs to metric views",
    "from_avro": "Avro has no native implementation",
    "to_avro": "Avro has no native implementation",
    "schema_of_avro": "Avro has no native implementation",
    "from_protobuf": "Protobuf has no native implementation",
    "to_protobuf": "Protobuf has no native implementation",
    **dict.fromkeys(
        ("make_time", "time", "to_time", "try_to_time", "time_diff", "time_trunc", "time_bucket"),
        "the type TIME has no native form",
    ),
    **dict.fromkeys(
        [f"time_{way}_{unit}" for way in ("from", "to") for unit in ("micros", "millis", "seconds")],
        "the type TIME has no native form",
    ),
    **dict.fromkeys(("timestamp_nanos", "unix_nanos"), "timestamps of nanoseconds have no native form"),
    "collate": "collations have no native implementation",
    "try_make_interval": "intervals that mix months and days have no native form",
}

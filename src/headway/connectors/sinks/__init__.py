"""Sinks by the name of their format: where the rows of a query go.

1. A format that is registered here runs in Headway.
2. A format that only Spark knows raises `UnsupportedPlan`, so that the query can fall back to Structured Streaming.
3. A format that nobody knows raises `InvalidOption`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

from headway.connectors.api import Sink, SinkContext
from headway.connectors.kafka.data_source import KAFKA_FORMAT
from headway.connectors.python_source import python_data_source
from headway.connectors.sinks.base import SparkSink
from headway.connectors.sinks.console import ConsoleSink
from headway.connectors.sinks.data_source import DataSourceSink
from headway.connectors.sinks.delta import DeltaSink
from headway.connectors.sinks.files import FileSink
from headway.connectors.sinks.foreach import ForeachSink
from headway.connectors.sinks.foreach_batch import ForeachBatchSink
from headway.connectors.sinks.kafka import KafkaSink
from headway.connectors.sinks.memory import MemorySink
from headway.connectors.sinks.noop import NoopSink
from headway.connectors.sinks.table import table_sink
from headway.errors import InvalidOption, UnsupportedPlan

__all__ = ["open_sink", "table_sink"]

_SINKS: dict[str, Callable[[str, SinkContext], SparkSink]] = {
    "memory": MemorySink,
    "console": ConsoleSink,
    "noop": NoopSink,
    "foreach": ForeachSink,
    "foreachbatch": ForeachBatchSink,
    "parquet": FileSink,
    "json": FileSink,
    "csv": FileSink,
    "orc": FileSink,
    "text": FileSink,
    "delta": DeltaSink,
    "kafka": KafkaSink,
    KAFKA_FORMAT: KafkaSink,
}


def open_sink(format: str, context: SinkContext) -> Sink:
    """The sink of `format`, its options, output mode and schema checked.

    Raises `InvalidOption` for what the user can put right, `UnsupportedPlan` for what Spark can do and Headway cannot.
    """
    make = _SINKS.get(format.lower().replace("_", ""))
    if make is not None:
        return make(format.lower(), context)
    command = context.payload if isinstance(context.payload, bytes) else python_data_source(context.spark, format)
    if command is not None:
        return DataSourceSink(format, context._replace(payload=command))
    _check_known_to_spark(context.spark, format)
    raise UnsupportedPlan(f"sink {format}")


def _check_known_to_spark(spark: Any, format: str) -> None:
    lookup = spark._jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource
    try:
        lookup(format, spark._jsparkSession.sessionState().conf())
    except AnalysisException as error:
        raise InvalidOption(f"sink format {format!r} cannot be used: {error}") from None
    except Py4JJavaError:
        known = ", ".join(sorted(_SINKS))
        raise InvalidOption(
            f"sink format {format!r} is unknown; use one of {known}, or the name of a Python data source that was "
            "registered with spark.dataSource.register"
        ) from None

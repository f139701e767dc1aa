"""`hw.writeStream(df)`: PySpark's `DataStreamWriter`, plus `latency` and `ordered`.

1. Every setting goes to a real `df.writeStream` as well, so that Spark itself checks it and so that the fallback
   runs the very same query.
2. Nothing happens until `start` or `toTable`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter as SparkWriter

from headway.dataflow.query import Trigger
from headway.errors import InvalidOption
from headway.intervals import duration, seconds

if TYPE_CHECKING:
    from headway.query import StreamingQuery
    from headway.session import Headway

OptionValue = str | bool | int | float | None
_BETWEEN_RESULTS = "processingTime"
_BETWEEN_CHECKPOINTS = ("continuous", "realTime")


@dataclass
class WriteSettings:
    """What the user said about a query.

    `format` is None while the user named none (then it is `spark.sql.sources.default`). `payload` is the function or
    object of foreach and foreachBatch. `table` is not None iff `toTable` was called.
    """

    df: DataFrame
    spark_writer: SparkWriter
    format: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    output_mode: str = "append"
    name: str | None = None
    trigger: Trigger = field(default_factory=Trigger)
    continuous_trigger: bool = False
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    payload: Any = None
    latency: float | None = None
    auto_latency: bool = False
    ordered: bool = False
    path: str | None = None
    table: str | None = None

    def option(self, name: str) -> str | None:
        """An option by its name in any case, as Spark looks it up."""
        return next((value for key, value in self.options.items() if key.lower() == name.lower()), None)


class DataStreamWriter:
    """Says where a stream goes, how, and by when; `start` then starts it.

    Made by `Headway.writeStream`. Methods that PySpark's writer has too mean the same here.
    """

    def __init__(self, headway: Headway, df: DataFrame) -> None:
        self._headway = headway
        self._settings = WriteSettings(df, df.writeStream)

    def format(self, source: str) -> DataStreamWriter:
        self._settings.spark_writer.format(source)
        self._settings.format = source
        return self

    def option(self, key: str, value: OptionValue) -> DataStreamWriter:
        if value is None:
            return self
        self._settings.spark_writer.option(key, value)
        for known in [k for k in self._settings.options if k.lower() == key.lower()]:
            del self._settings.options[known]
        self._settings.options[key] = str(value).lower() if isinstance(value, bool) else str(value)
        if key.lower() == "queryname":
            self._settings.name = str(value)
        return self

    def options(self, **options: OptionValue) -> DataStreamWriter:
        for key, value in options.items():
            self.option(key, value)
        return self

    def outputMode(self, outputMode: str) -> DataStreamWriter:
        self._settings.spark_writer.outputMode(outputMode)
        self._settings.output_mode = outputMode.lower()
        return self

    def queryName(self, queryName: str) -> DataStreamWriter:
        self._settings.spark_writer.queryName(queryName)
        self._settings.name = queryName
        return self

    def partitionBy(self, *cols: str | list[str]) -> DataStreamWriter:
        names = _names(cols)
        self._settings.spark_writer.partitionBy(*names)
        self._settings.partition_by = names
        return self

    def clusterBy(self, *cols: str | list[str]) -> DataStreamWriter:
        """Clustering is left to Spark: such a query falls back."""
        names = _names(cols)
        self._settings.spark_writer.clusterBy(*names)
        self._settings.cluster_by = names
        return self

    def trigger(
        self,
        *,
        processingTime: str | None = None,
        once: bool | None = None,
        continuous: str | None = None,
        availableNow: bool | None = None,
        realTime: str | None = None,
    ) -> DataStreamWriter:
        """When results are computed; without it, as rows come.

        `processingTime` is the least time between results, `continuous` and `realTime` the time between checkpoints.
        """
        given = {
            "processingTime": processingTime,
            "once": once,
            "continuous": continuous,
            "availableNow": availableNow,
            "realTime": realTime,
        }
        self._settings.spark_writer.trigger(**given)
        kind, value = next((kind, value) for kind, value in given.items() if value is not None)
        self._settings.trigger = _trigger(kind, value)
        self._settings.continuous_trigger = kind == "continuous"
        return self

    def foreach(self, f: Any) -> DataStreamWriter:
        """`f` is called with every row, or has `process(row)` and, if it likes, `open` and `close`."""
        SparkWriter._construct_foreach_function(f)
        self._settings.format, self._settings.payload = "foreach", f
        return self

    def foreachBatch(self, func: Callable[[DataFrame, int], None]) -> DataStreamWriter:
        """`func` is called in the driver with the rows of every epoch, as a DataFrame, and the epoch's number."""
        if not callable(func):
            raise InvalidOption(f"foreachBatch takes a function of a DataFrame and a number, not {func!r}")
        self._settings.format, self._settings.payload = "foreachBatch", func
        return self

    def latency(self, target: str | float) -> DataStreamWriter:
        """By when a result should be out, counted from the arrival of the last event that influenced it.

        An interval as Spark writes them ("800 ms", "2 seconds") or a number of seconds. "auto": the query is measured
        with nothing going before it, then its target is twice its 95th percentile. A query without a target is bulk
        work: it takes what the others leave.
        """
        self._settings.auto_latency = target == "auto"
        self._settings.latency = None if target == "auto" else seconds(target)
        return self

    def ordered(self, ordered: bool = True) -> DataStreamWriter:
        """Results leave in the order in which their events came to the source partition."""
        self._settings.ordered = ordered
        return self

    def start(
        self,
        path: str | None = None,
        format: str | None = None,
        outputMode: str | None = None,
        partitionBy: str | list[str] | None = None,
        queryName: str | None = None,
        fallback: bool = True,
        **options: OptionValue,
    ) -> StreamingQuery:
        """Start the query.

        What Headway cannot run natively runs on Structured Streaming, with one warning that says why;
        `fallback=False` makes that the error `headway.UnsupportedPlan`.
        """
        self._take(format, outputMode, partitionBy, queryName, options)
        self._settings.path = path
        return self._headway._launch(self._settings, fallback)

    def toTable(
        self,
        tableName: str,
        format: str | None = None,
        outputMode: str | None = None,
        partitionBy: str | list[str] | None = None,
        queryName: str | None = None,
        fallback: bool = True,
        **options: OptionValue,
    ) -> StreamingQuery:
        """Start the query with a table as its sink; the table is made if it does not exist."""
        self._take(format, outputMode, partitionBy, queryName, options)
        self._settings.table = tableName
        return self._headway._launch(self._settings, fallback)

    def _take(
        self,
        format: str | None,
        mode: str | None,
        partition_by: str | list[str] | None,
        name: str | None,
        options: dict[str, OptionValue],
    ) -> None:
        self.options(**options)
        if mode is not None:
            self.outputMode(mode)
        if partition_by is not None:
            self.partitionBy(partition_by)
        if format is not None:
            self.format(format)
        if name is not None:
            self.queryName(name)


def _names(columns: tuple[str | list[str], ...]) -> tuple[str, ...]:
    if len(columns) == 1 and isinstance(columns[0], list | tuple):
        return tuple(columns[0])
    return tuple(str(column) for column in columns)


def _trigger(kind: str, value: Any) -> Trigger:
    if kind == _BETWEEN_RESULTS:
        interval = duration(value)
        return Trigger("processingTime", interval) if interval > 0 else Trigger()
    if kind in _BETWEEN_CHECKPOINTS:
        return Trigger("continuous", duration(value) or None)
    return Trigger("once" if kind == "once" else "availableNow")

"""`headway.start`: nodes inside a Spark cluster, and the object through which queries go to them.

1. A node takes one of Spark's slots for as long as it lives, and one slot is always left to Spark's own jobs.
2. A SparkSession that was made here is stopped with Headway; one that was given is left alone.
3. One Headway per Spark application: a second one would compete with the first for the slots.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from headway.errors import HeadwayError, InvalidOption
from headway.java import ensure_java
from headway.scheduling import DEFAULT, Policy

if TYPE_CHECKING:
    from headway.cluster.runtime import Runtime
    from headway.query import StreamingQuery
    from headway.streams import StreamingQueryManager
    from headway.writer import DataStreamWriter, WriteSettings

_log = logging.getLogger("headway")
_LEFT_TO_SPARK = 2
NODE_DAEMON = "headway.node.daemon"
"""For `spark.python.daemon.module`, where all of Spark's machines have Headway: nodes then start at once."""
_running: dict[str, Headway] = {}


class Headway:
    """A running Headway. Use it as a context manager, or call `stop`.

    `spark` is the session its queries belong to, `nodes` how many nodes it has.
    """

    def __init__(self, spark: SparkSession, runtime: Runtime, nodes: int, owns_session: bool) -> None:
        from headway.streams import StreamingQueryManager

        self.spark = spark
        self.nodes = nodes
        self._runtime = runtime
        self._owns_session = owns_session
        self._application = str(spark.sparkContext.applicationId)
        self._streams = StreamingQueryManager(spark)
        _running[self._application] = self
        atexit.register(self.stop)

    def writeStream(self, df: DataFrame) -> DataStreamWriter:
        """A writer for a streaming DataFrame, with PySpark's methods, `latency` and `ordered`."""
        from headway.writer import DataStreamWriter

        return DataStreamWriter(self, df)

    @property
    def streams(self) -> StreamingQueryManager:
        """The queries that were started here, and listeners to them."""
        return self._streams

    def explain(self, df: DataFrame) -> None:
        """Print the dataflow of a DataFrame: what of it is compiled, interpreted, or falls back, and why."""
        from headway.frontend import explain

        print(explain(df))

    def recordTrace(self, path: str | os.PathLike[str]) -> AbstractContextManager[None]:
        """While the block runs, record in a file which operator ran when, of all queries.

        `headway simulate` replays it under other policies. `with hw.recordTrace("run.trace.jsonl"): …`
        """
        return self._runtime.record(Path(path))

    @property
    def policy(self) -> Policy:
        """The scheduling policy; set it, to a name or a policy, to change it while queries run."""
        return self._runtime.policy

    @policy.setter
    def policy(self, policy: str | Policy) -> None:
        self._runtime.use_policy(policy)

    def stop(self) -> None:
        """Stop all queries, then the nodes. Calling it again does nothing."""
        if _running.pop(self._application, None) is not self:
            return
        atexit.unregister(self.stop)
        self._streams.close()
        self._runtime.stop()
        if self._owns_session:
            self.spark.stop()

    def _launch(self, settings: WriteSettings, fallback: bool) -> StreamingQuery:
        if _running.get(self._application) is not self:
            raise HeadwayError("this Headway was stopped: call headway.start() again")
        from headway.launch import launch

        return launch(self.spark, self._runtime, self._streams, settings, fallback)

    def __enter__(self) -> Headway:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def start(
    spark: SparkSession | None = None,
    *,
    nodes: int | None = None,
    threads: int | None = None,
    policy: str | Policy = DEFAULT,
    conf: Mapping[str, str] | None = None,
) -> Headway:
    """Start Headway's nodes in `spark`, or in a local session made for it.

    `nodes` is how many; by default one per core, as far as Spark's slots go. `threads`, the worker threads of a node,
    can only be 1 so far: a core's loop is a process. `policy` says which operator runs next: "llf" (least laxity
    first), "slack" (deadlines, and output costs within their slack), "edf", "sjf", "fifo", "orleans", "tokens",
    "arrival", "enjima", "fcfs", "ml", "mc", "rr", "hr", or a `headway.scheduling.Policy`. `conf` are the settings whose
    names begin with "headway.".
    """
    for name, number in (("nodes", nodes), ("threads", threads)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise InvalidOption(f"{name} must be a whole number, 1 or more, not {number!r}")
    session = spark if spark is not None else _local_session(nodes or os.cpu_count() or 1)
    try:
        return _start(session, nodes, threads or 1, policy, dict(conf or {}), owns_session=spark is None)
    except BaseException:
        if spark is None:
            session.stop()
        raise


def _start(
    spark: SparkSession, nodes: int | None, threads: int, policy: str | Policy, conf: dict[str, str], owns_session: bool
) -> Headway:
    from headway.cluster.runtime import Runtime
    from headway.connectors.kafka.data_source import register

    if spark.sparkContext.applicationId in _running:
        raise HeadwayError("Headway runs in this Spark application already: use that one, or stop() it first")
    _use_this_python(spark)
    count = node_count(nodes, slots(spark), _may_grow(spark))
    runtime = Runtime(spark, count, threads, policy, conf)
    runtime.start()
    register(spark)
    return Headway(spark, runtime, count, owns_session)


def _local_session(nodes: int) -> SparkSession:
    active = SparkSession.getActiveSession()
    if active is not None:
        raise HeadwayError("there is a SparkSession already: hand it over with headway.start(spark)")
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{nodes + _LEFT_TO_SPARK}]").appName("headway")
    builder = builder.config("spark.python.daemon.module", NODE_DAEMON)
    return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def _use_this_python(spark: SparkSession) -> None:
    """In local mode, run Spark's Python workers by the interpreter that has Headway, unless the user chose one.

    Spark takes the `python3` on the PATH, which is another one where a virtual environment is not activated.
    """
    context = spark.sparkContext
    chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().get("spark.pyspark.python")
    if context.master.startswith("local") and not chosen:
        context.pythonExec = sys.executable


def node_count(asked: int | None, slots: int, may_grow: bool = False) -> int:
    """How many nodes to start where Spark has so many slots.

    >>> node_count(None, slots=4) <= 3
    True
    """
    if slots < 2 and not may_grow:
        raise HeadwayError(
            f"Spark has {slots} slot, and Headway needs one per node and one for Spark itself: "
            'start Spark with more, such as SparkSession.builder.master("local[4]")'
        )
    if may_grow:
        return asked or max(1, slots - 1)
    if asked is not None and asked > slots - 1:
        _log.warning("%d nodes were asked for; Spark has %d slots and keeps one: %d nodes", asked, slots, slots - 1)
    return min(asked or os.cpu_count() or 1, slots - 1)


def slots(spark: SparkSession) -> int:
    """How many tasks Spark can run at once."""
    context = spark.sparkContext
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", context.master)
    cluster = re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,.*\]", context.master)
    if local:
        cores = os.cpu_count() or 1 if local.group(1) == "*" else int(local.group(1) or 1)
    elif cluster:
        cores = int(cluster.group(1)) * int(cluster.group(2))
    else:
        cores = int(context.defaultParallelism)
    return cores // int(context.getConf().get("spark.task.cpus", "1") or 1)


def _may_grow(spark: SparkSession) -> bool:
    """With dynamic allocation, asking for a node brings an executor."""
    return str(spark.sparkContext.getConf().get("spark.dynamicAllocation.enabled", "false")).lower() == "true"

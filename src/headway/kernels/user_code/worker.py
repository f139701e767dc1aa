"""PySpark's worker without its socket: what it makes of pickled functions, as a function of Arrow batches.

1. This is the only place that knows `pyspark.worker`, so that functions get the values, and results are converted and
   refused, exactly as the installed PySpark does it.
2. Timestamps are in the session's time zone on their way in, as Spark sends them, and come back in UTC.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import worker
from pyspark.core.broadcast import Broadcast, _broadcastRegistry
from pyspark.serializers import CPickleSerializer
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.util import PythonEvalType
from pyspark.worker_message import UDFInfo
from pyspark.worker_util import read_command

from headway.dataflow.user_code import UserFunction

Batches = Iterator[pa.RecordBatch]
_TIME_ZONE = "spark.sql.session.timeZone"
_BATCH_SIZE = "spark.sql.execution.arrow.maxRecordsPerBatch"


class Settings:
    """What a worker is told of the session."""

    def __init__(self, settings: Sequence[tuple[str, str]]) -> None:
        self._told = dict(settings)
        self.runner = worker.RunnerConf(self._told)

    def sent_type(self, data_type: T.DataType) -> pa.DataType:
        """The Arrow type in which Spark sends values of a type to Python."""
        return to_arrow_type(data_type, timezone=self._told.get(_TIME_ZONE, "UTC"))

    def slices(self, batch: pa.RecordBatch) -> Batches:
        """The batch in pieces of the size that the user asked for."""
        size = int(self._told[_BATCH_SIZE])
        if size <= 0 or batch.num_rows <= size:
            return iter([batch])
        return (batch.slice(at, size) for at in range(0, batch.num_rows, size))


def load(
    eval_type: int,
    functions: Sequence[UserFunction],
    offsets: Sequence[Sequence[int]],
    settings: Settings,
    input_type: T.StructType,
) -> Callable[[Batches], Batches]:
    """What computes batches of results of `functions`, whose arguments are the columns at `offsets`."""
    infos = [info(function, at) for function, at in zip(functions, offsets, strict=True)]
    conf = worker.EvalConf({"input_type": input_type.json()})
    mapper, *_ = worker.read_udfs(CPickleSerializer(), infos, eval_type, settings.runner, conf)
    return lambda batches: mapper(0, batches)


def load_rowwise(
    functions: Sequence[UserFunction], offsets: Sequence[Sequence[int]], settings: Settings
) -> list[tuple[list[int], Callable[..., object]]]:
    """Functions of one row's values that go and come pickled in Spark: the columns each takes, and the function."""
    read = worker.read_single_udf
    batched = PythonEvalType.SQL_BATCHED_UDF
    infos = (info(function, at) for function, at in zip(functions, offsets, strict=True))
    return [read(CPickleSerializer(), found, batched, settings.runner, i) for i, found in enumerate(infos)]


def command(function: UserFunction) -> Callable[..., Any]:
    """The function itself, as the user wrote it."""
    found, _ = read_command(CPickleSerializer(), info(function, range(len(function.args))).udfs[0])
    loaded: Callable[..., Any] = found
    return loaded


def info(function: UserFunction, offsets: Sequence[int]) -> UDFInfo:
    """A function as Spark describes it to a worker; its broadcast variables are set up."""
    for number, value in function.broadcasts:
        if number not in _broadcastRegistry:
            _broadcastRegistry[number] = Broadcast(sock_file=io.BytesIO(value))
    named = list(zip(function.keywords, offsets, strict=True))
    return UDFInfo(
        udfs=[memoryview(command) for command in function.commands],
        args=[at for key, at in named if key is None],
        kwargs={key: at for key, at in named if key is not None},
        result_id=0,
    )

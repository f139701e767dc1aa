"""Python data sources that were registered with `spark.dataSource.register`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from py4j.protocol import Py4JError

from headway.gateway import jvm_method

_SESSIONS = 4
"""How many sessions' registries are remembered."""


def python_data_source(spark: Any, name: str) -> bytes | None:
    """The pickled class of the Python data source called `name`, or None if there is none.

    The class is had from the session's own registry, so that it is the one Spark would use.
    """
    manager = _manager(spark)
    if not manager.dataSourceExists(name):
        return None
    try:
        command = manager.lookupDataSource(name).dataSourceCls().command()
    except Py4JError:
        return None
    return _bytes_of(spark, command)


def _bytes_of(spark: Any, command: Any) -> bytes:
    """One copy over the wire: a Scala sequence asked element by element costs a round trip for each byte."""
    return bytes(command.toArray(_byte_tag(spark)))


@lru_cache(_SESSIONS)
def _manager(spark: Any) -> Any:
    """The session's registry: one for as long as it lives."""
    return spark._jsparkSession.sessionState().dataSourceManager()


@lru_cache(_SESSIONS)
def _byte_tag(spark: Any) -> Any:
    return jvm_method(spark, "scala.reflect.ClassTag", "Byte")()

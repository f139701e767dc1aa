"""Python data sources that were registered with `spark.dataSource.register`."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError


def python_data_source(spark: Any, name: str) -> bytes | None:
    """The pickled class of the Python data source called `name`, or None if there is none.

    The class is had from the session's own registry, so that it is the one Spark would use.
    """
    manager = spark._jsparkSession.sessionState().dataSourceManager()
    if not manager.dataSourceExists(name):
        return None
    try:
        command = manager.lookupDataSource(name).dataSourceCls().command()
    except Py4JError:
        return None
    return _bytes_of(spark, command)


def _bytes_of(spark: Any, command: Any) -> bytes:
    """One copy over the wire: a Scala sequence asked element by element costs a round trip for each byte."""
    tag = spark._jvm.scala.reflect.ClassTag.Byte()
    return bytes(command.toArray(tag))

"""The way to Spark's JVM: as few and as short round trips as can be.

1. The JVM's end of a connection holds back the last part of an answer longer than 8 KiB until the rest is acknowledged,
   which takes the operating system 40 ms. `answer_at_once` turns that off; each thread has a connection of its own.
2. A class asked for package after package costs a round trip, and a search of the class path, for each of them:
   `jvm_class` and `jvm_method` ask once for the full name, and remember.
"""

from __future__ import annotations

import json
import threading
import weakref
from functools import cache
from typing import Any

_told = threading.local()


def answer_at_once(spark: Any) -> None:
    """Have long answers to this thread come without the delay of rule 1."""
    gateway = spark.sparkContext._gateway
    own = getattr(gateway._gateway_client, "get_thread_connection", None)
    if own is None:
        return  # threads share connections here (PYSPARK_PIN_THREAD=false): answers are late, and right
    # A thread that lost its connection gets another one with the next call.
    told = _told.connection() if hasattr(_told, "connection") else None
    if told is not None and told is own() and told.socket is not None:
        return
    connection = gateway.java_gateway_server.getCallbackClient().getPerThreadConnection()
    if connection is not None:
        connection.getSocket().setTcpNoDelay(True)
        _told.connection = weakref.ref(own())


def jvm_class(spark: Any, name: str) -> Any:
    """A class of the JVM by its full name."""
    return _class(spark._jvm, name)


def jvm_method(spark: Any, class_name: str, method: str) -> Any:
    """A static method of a class of the JVM."""
    return _method(spark._jvm, class_name, method)


def options_of(spark: Any, java_map: Any) -> dict[str, str]:
    """A map of the JVM from text to text, in one round trip."""
    found: dict[str, str] = json.loads(_mapper(spark._jvm).writeValueAsString(java_map))
    return found


@cache
def _class(jvm: Any, name: str) -> Any:
    return getattr(jvm, name)


@cache
def _method(jvm: Any, class_name: str, method: str) -> Any:
    return getattr(_class(jvm, class_name), method)


@cache
def _mapper(jvm: Any) -> Any:
    return _class(jvm, "com.fasterxml.jackson.databind.ObjectMapper")()

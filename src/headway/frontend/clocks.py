"""Functions that read the clock: `current_timestamp()` and the like.

The optimizer would fold them to constants, though on a stream they change. As Spark does it before every micro-batch,
they are replaced by `CurrentBatchTimestamp`, which the optimizer leaves alone; here it is the time of a batch of rows.
"""

from __future__ import annotations

import time
from typing import Any

from headway.gateway import jvm_class, jvm_method

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


def live_clocks(spark: Any, analyzed: Any, time_zone: str) -> Any:
    """The analyzed plan `analyzed` of the JVM's, with those functions replaced that have a native form."""
    some = jvm_class(spark, "scala.Some")(time_zone)
    clocks = [_expression(spark, name)() for name in ("CurrentTimestamp", "Now")]
    clocks += [_expression(spark, name)(some) for name in ("CurrentDate", "LocalTimestamp")]
    replaced = jvm_class(spark, "java.util.HashMap")()
    now_ms = time.time_ns() // 1_000_000
    for clock in clocks:
        replaced.put(clock, _expression(spark, "CurrentBatchTimestamp")(now_ms, clock.dataType(), some))
    # A map of Scala's is a partial function.
    rule = jvm_method(spark, "org.apache.spark.api.python.PythonUtils", "toScalaMap")(replaced)
    return analyzed.transformAllExpressions(rule)


def _expression(spark: Any, name: str) -> Any:
    return jvm_class(spark, f"{_EXPRESSIONS}.{name}")

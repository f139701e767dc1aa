"""Punctual streaming on Spark: ordinary PySpark streaming queries, each with a latency target.

import headway

hw = headway.start(spark)
query = hw.writeStream(df).latency("800 ms").format("memory").queryName("counts").start()
"""

from importlib.metadata import version

from headway.errors import FallbackWarning, HeadwayError, InvalidOption, StreamingQueryFailed, UnsupportedPlan
from headway.session import Headway, start

__version__ = version("headway")

__all__ = [
    "FallbackWarning",
    "Headway",
    "HeadwayError",
    "InvalidOption",
    "StreamingQueryFailed",
    "UnsupportedPlan",
    "__version__",
    "start",
]

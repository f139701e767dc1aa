"""The errors a user can meet; each names the thing that is wrong and the way out."""

from pyspark.errors import StreamingQueryException


class HeadwayError(Exception):
    """Base of every error that Headway raises on purpose."""


class UnsupportedPlan(HeadwayError):
    """A plan node, expression or type that Headway does not run natively.

    `what` is the name Spark gives it; `why` says what is missing. The fallback warning and `explain` show both.
    """

    def __init__(self, what: str, why: str = "it has no native implementation yet") -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why


class InvalidOption(HeadwayError):
    """An option, format or setting that is unknown or has a bad value; known when `start()` is called."""


class StreamingQueryFailed(HeadwayError, StreamingQueryException):  # type: ignore[misc]
    """A query that ran and failed; carries the traceback of the user's own code where there is one.

    It is a PySpark `StreamingQueryException` too, so that programs that catch that one go on working.
    """


class FallbackWarning(UserWarning):
    """A query runs on Structured Streaming, because a part of it cannot run natively; the text names the part."""

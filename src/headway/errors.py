"""The errors a user can meet; each names the thing that is wrong and the way out."""

from pyspark.errors import AnalysisException, IllegalArgumentException, StreamingQueryException


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


class InvalidOption(HeadwayError, AnalysisException, IllegalArgumentException):  # type: ignore[misc]
    """An option, format or setting that is unknown or has a bad value; known when `start()` is called.

    Spark raises one of the other two for such things, so that programs that catch them go on working.
    """


class StreamingQueryFailed(HeadwayError, StreamingQueryException):  # type: ignore[misc]
    """A query that ran and failed; its text says which one, what went wrong, and with which traceback.

    It is a PySpark `StreamingQueryException` too, so that programs that catch that one go on working. `what` is the
    first line of what went wrong, `condition` Spark's name for it, None where Spark has none.
    """

    def __init__(self, id: str, run_id: str, name: str | None, what: str, story: str, condition: str | None) -> None:
        query = f"Query {name or 'without a name'} [id = {id}, runId = {run_id}]"
        told = {"id": id, "runId": run_id, "message": what}
        text = f"{query} failed: {what}\n{story}"
        StreamingQueryException.__init__(self, text, errorClass="STREAM_FAILED", messageParameters=told)
        self.what = what
        self.condition = condition

    def getSqlState(self) -> str:
        return "XXKST"


class FallbackWarning(UserWarning):
    """A query runs on Structured Streaming, because a part of it cannot run natively; the text names the part."""

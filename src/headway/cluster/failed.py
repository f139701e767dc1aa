"""The error that a query ends with: which query it was, what went wrong, and where.

1. What went wrong comes first, the traceback after it.
2. Spark has names for what can go wrong, its error conditions. Headway's own errors begin with them, in brackets; what
   the user's code raises has one name in the nodes and another in foreachBatch.
"""

from __future__ import annotations

import re
import traceback

from headway.connectors.sinks.foreach_batch import ForeachBatchSink
from headway.dataflow.query import QuerySpec
from headway.errors import HeadwayError, StreamingQueryFailed

_NAMED = re.compile(r"\[([A-Z0-9_.]+)\] ")
_IN_NODES = "PYTHON_EXCEPTION"
_IN_BATCHES = "FOREACH_BATCH_USER_FUNCTION_ERROR"


def query_failed(spec: QuerySpec, cause: BaseException | None, story: str) -> StreamingQueryFailed:
    """Something was raised in a node. `cause` is None if it cannot be had here, then `story` is all there is."""
    raised = cause is not None or story.startswith("Traceback")
    return _failed(spec, cause, story, _IN_NODES if raised else None)


def sink_failed(spec: QuerySpec, cause: BaseException) -> StreamingQueryFailed:
    """Something was raised in the driver's part of the sink."""
    story = "".join(traceback.format_exception(cause))
    return _failed(spec, cause, story, _IN_BATCHES if isinstance(spec.sink, ForeachBatchSink) else None)


def _failed(spec: QuerySpec, cause: BaseException | None, story: str, user_code: str | None) -> StreamingQueryFailed:
    condition = user_code
    if isinstance(cause, HeadwayError):
        named = _NAMED.match(str(cause))
        condition = named[1] if named else None
    error = StreamingQueryFailed(spec.id, spec.run_id, spec.name, _what(cause, story), story.strip(), condition)
    error.__cause__ = cause
    return error


def _what(cause: BaseException | None, story: str) -> str:
    if cause is None:
        return story.strip().splitlines()[-1 if story.startswith("Traceback") else 0]
    return str(cause) if isinstance(cause, HeadwayError) else f"{type(cause).__name__}: {cause}"

"""The schedule as a picture: every run, in the Chrome trace format, that chrome://tracing and Perfetto show."""

from __future__ import annotations

from typing import Any

from headway.simulate.build import Built
from headway.simulate.engine import Measured


def timeline(jobs: list[Built], measured: Measured) -> dict[str, Any]:
    """Nodes are its processes, workers its threads. Times are microseconds."""
    return {
        "displayTimeUnit": "ms",
        "traceEvents": [
            {
                "name": f"{jobs[operator.job].name} {operator.name} {operator.place}",
                "cat": jobs[operator.job].spec.group,
                "ph": "X",
                "pid": node,
                "tid": worker,
                "ts": begin * 1e6,
                "dur": seconds * 1e6,
                "args": {"rows": what.rows, "p": what.p, "t": what.t},
            }
            for node, worker, begin, seconds, operator, what in measured.timeline or ()
        ],
    }

"""All cases, by suite."""

from __future__ import annotations

from collections.abc import Sequence

import aggregation_cases
import chained_cases
import deduplication_cases
import join_cases
import session_cases
import watermark_cases

from conformance import Case

SUITES: dict[str, Sequence[Case]] = {
    "aggregation": aggregation_cases.CASES,
    "watermarks": watermark_cases.CASES,
    "joins": join_cases.CASES,
    "sessions": session_cases.CASES,
    "deduplication": deduplication_cases.CASES,
    "chained": chained_cases.CASES,
}

"""Catalyst plan to dataflow."""

from headway.frontend import (
    aggregates,
    deduplication,
    generators,
    joins,
    sorting,
    sources,
    stateful_code,
    unary,
    user_code,
)
from headway.frontend.explain import explain
from headway.frontend.lower import LoweredQuery, lower

__all__ = [
    "LoweredQuery",
    "aggregates",
    "deduplication",
    "explain",
    "generators",
    "joins",
    "lower",
    "sorting",
    "sources",
    "stateful_code",
    "unary",
    "user_code",
]

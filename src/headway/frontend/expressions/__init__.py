"""Lowering of expressions, a file per family; importing this package registers them all."""

from headway.frontend.expressions import (
    arithmetic,
    bitwise,
    casts,
    collections,
    comparison,
    csv,
    intervals,
    json,
    lambdas,
    leaves,
    logic,
    math,
    strings,
    text,
    times,
)
from headway.frontend.expressions.registry import Lowering, known, lowers

__all__ = [
    "Lowering",
    "arithmetic",
    "bitwise",
    "casts",
    "collections",
    "comparison",
    "csv",
    "intervals",
    "json",
    "known",
    "lambdas",
    "leaves",
    "logic",
    "lowers",
    "math",
    "strings",
    "text",
    "times",
]

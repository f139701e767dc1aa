"""Interpreted expressions, a file per family; importing this package registers them all."""

from headway.kernels.expressions import (
    arithmetic,
    bitwise,
    casts,
    comparison,
    decimal_arithmetic,
    encodings,
    leaves,
    logic,
    math,
    patterns,
    rounding,
    strings,
    time_text,
    time_units,
    times,
    windows,
)
from headway.kernels.expressions.registry import RowError, evaluate

__all__ = [
    "RowError",
    "arithmetic",
    "bitwise",
    "casts",
    "comparison",
    "decimal_arithmetic",
    "encodings",
    "evaluate",
    "leaves",
    "logic",
    "math",
    "patterns",
    "rounding",
    "strings",
    "time_text",
    "time_units",
    "times",
    "windows",
]

"""What every cast function takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as T

from headway.kernels.expressions.vectors import Mask, shown

CAST_OVERFLOW = "CAST_OVERFLOW"
INVALID_INPUT = "CAST_INVALID_INPUT"
LONG_OVERFLOW = "ARITHMETIC_OVERFLOW"
OUT_OF_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE"
OUT_OF_SUPPORTED_RANGE = "NUMERIC_OUT_OF_SUPPORTED_RANGE"


@dataclass(frozen=True)
class Casting:
    """From which type to which, in which session."""

    source: T.DataType
    target: T.DataType
    time_zone: str
    ansi: bool

    def message(self, error: str, value: pa.Scalar) -> str:
        """Spark's error class, and the value at fault."""
        what = f"The value {shown(value)} of the type {self.source.simpleString().upper()}"
        return f"[{error}] {what} cannot be cast to {self.target.simpleString().upper()}; try_cast gives NULL."


@dataclass(frozen=True)
class Cast:
    """The cast column; where `bad`, the value means nothing, and in ANSI mode the row's error is of class `error`.

    `fails` tells that it is an error in either mode, and a null in `try_cast` alone.
    """

    values: pa.Array
    bad: Mask | None = None
    error: str = CAST_OVERFLOW
    fails: bool = False


CastFunction = Callable[[pa.Array, Casting], Cast]

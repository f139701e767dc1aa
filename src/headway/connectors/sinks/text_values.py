"""Values as text, as Spark writes them into json and csv files and into the names of partition directories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.errors import UnsupportedPlan

Texts = list[str | None]

_ISO = "%Y-%m-%dT%H:%M:%S"


def java_double(value: float) -> str:
    """A double as Java prints it.

    >>> java_double(1e10), java_double(0.5), java_double(float("inf"))
    ('1.0E10', '0.5', 'Infinity')
    """
    return _java_floating(value, repr(value))


def java_float(value: float) -> str:
    """A float (32 bits) as Java prints it.

    >>> java_float(0.1), java_float(3e7)
    ('0.1', '3.0E7')
    """
    return _java_floating(value, str(np.float32(value)))


def _java_floating(value: float, shortest: str) -> str:
    size = abs(value)
    if value != value:
        return "NaN"
    if size == float("inf"):
        return "Infinity" if value > 0 else "-Infinity"
    if size == 0 or 1e-3 <= size < 1e7:
        return shortest if "e" not in shortest else f"{Decimal(shortest):f}"
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    plain = "".join(map(str, digits))
    mantissa = plain.rstrip("0") or "0"
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}E{exponent + len(plain) - 1}"


@dataclass(frozen=True)
class TextValues:
    """How values become text in one time zone."""

    zone: str

    @staticmethod
    def of_session(spark: Any, zone: str = "") -> TextValues:
        """In `zone`, or in the session's time zone."""
        name = zone or spark.conf.get("spark.sql.session.timeZone")
        texts = TextValues("UTC" if name in ("Z", "UT") else name)
        try:
            texts.iso(pa.array([0], pa.timestamp("us", "UTC")))
        except pa.ArrowInvalid as error:
            raise UnsupportedPlan(f"time zone {name}", f"Arrow does not know it ({error})") from error
        return texts

    def iso(self, column: pa.Array) -> pa.Array:
        """Timestamps as `yyyy-MM-dd'T'HH:mm:ss.SSS` and, where they are instants, the offset of the zone."""
        local = self._local(column)
        texts = pc.strftime(pc.floor_temporal(local, unit="millisecond").cast(pa.timestamp("ms")), _ISO)
        if column.type.tz is None:
            return texts
        micros = pc.subtract(local.cast(pa.int64()), column.cast(pa.int64()))
        offsets = micros.dictionary_encode()
        names = pa.array([_offset(value // 1_000_000) for value in offsets.dictionary.to_pylist()], pa.string())
        return pc.binary_join_element_wise(texts, names.take(offsets.indices), "")

    def file_text(self, column: pa.Array, spark_type: T.DataType) -> Texts:
        """A column as csv files and, but for quotes, json files have it."""
        if isinstance(spark_type, T.TimestampType | T.TimestampNTZType):
            column = self.iso(column)
        return _texts(column, _FILE_TEXT.get(type(spark_type), str))

    def cast(self, column: pa.Array, spark_type: T.DataType) -> Texts:
        """A column as Spark casts it to a string."""
        if isinstance(spark_type, T.TimestampType | T.TimestampNTZType):
            return _texts(pc.strftime(self._local(column), "%Y-%m-%d %H:%M:%S"), _shortest_fraction)
        if isinstance(spark_type, T.DecimalType):
            return _texts(column, lambda value: f"{value:f}")
        return _texts(column, _FILE_TEXT.get(type(spark_type), str))

    def _local(self, column: pa.Array) -> pa.Array:
        return column if column.type.tz is None else pc.local_timestamp(column.cast(pa.timestamp("us", self.zone)))


def _offset(seconds: int) -> str:
    """An offset from UTC as ISO has it; seconds are shown where a zone had them, before time was standard."""
    if seconds == 0:
        return "Z"
    minutes, rest = divmod(abs(seconds), 60)
    tail = f":{rest:02d}" if rest else ""
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}{tail}"


def _texts(column: pa.Array, text: Callable[[Any], str]) -> Texts:
    return [None if value is None else text(value) for value in column.to_pylist()]


def _shortest_fraction(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


_FILE_TEXT: dict[type[T.DataType], Callable[[Any], str]] = {
    T.BooleanType: lambda value: "true" if value else "false",
    T.DoubleType: java_double,
    T.FloatType: java_float,
    T.BinaryType: lambda value: f"[{value.hex(' ').upper()}]",
}

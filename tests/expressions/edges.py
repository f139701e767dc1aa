"""Rows that stand at the edges of each type, and all pairs of them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

NAN, INF = float("nan"), float("inf")


def integer_edges(bits: int) -> list[int | None]:
    top = 2 ** (bits - 1) - 1
    return [None, 0, 1, -1, 7, -7, 3, top, top - 1, -top, -top - 1]


DOUBLES = [None, 0.0, -0.0, 1.0, -1.0, 0.1, 2.5, -7.25, NAN, INF, -INF, 5e-324, 1.7976931348623157e308, 3.0]
FLOATS = [None, 0.0, -0.0, 1.0, -1.5, NAN, INF, -INF, 1.401298464324817e-45, 3.4028234663852886e38, 0.10000000149011612]
STRINGS = [None, "", "a", "A", "ab", "b", "\u00e9", "\uffff", "\U0001f600", "a\x00", "\u20ac"]
BINARIES = [None, b"", b"\x00", b"\x7f", b"\x80", b"\xff", b"\x00\x01"]
DATES = [None, date(1970, 1, 1), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)]
TIMES = [None, datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 11, 3, 6, 30)]
BOOLEANS = [None, True, False]

BY_TYPE: dict[str, list[Any]] = {
    "boolean": BOOLEANS,
    "byte": integer_edges(8),
    "short": integer_edges(16),
    "int": integer_edges(32),
    "long": integer_edges(64),
    "float": FLOATS,
    "double": DOUBLES,
    "string": STRINGS,
    "binary": BINARIES,
    "date": DATES,
    "timestamp": TIMES,
    "timestamp_ntz": TIMES,
}


def decimal_edges(precision: int, scale: int) -> list[Decimal | None]:
    unscaled = [
        0,
        1,
        -1,
        5,
        -5,
        10**scale,
        -(10**scale),
        15 * 10**scale // 10,
        3,
        7,
        10**precision - 1,
        1 - 10**precision,
    ]
    inside = [value for value in unscaled if abs(value) < 10**precision]
    return [None, *(Decimal(f"{value}E-{scale}") for value in inside)]


def pairs(values: list[Any], others: list[Any] | None = None) -> list[tuple[Any, Any]]:
    return list(product(values, values if others is None else others))

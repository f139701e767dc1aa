"""Between Arrow columns and numpy vectors, and what a bad row leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.expressions.registry import RowError

Vector = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


def numbers(array: pa.Array) -> Vector:
    """The column as numpy numbers: days of dates, microseconds of times and durations; zero where it is null."""
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = array.view(pa.int64())
    elif pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    if pa.types.is_boolean(array.type):
        return flags(array)
    values: Vector = (pc.fill_null(array, 0) if array.null_count else array).to_numpy(zero_copy_only=False)
    return values


def flags(array: pa.Array) -> Mask:
    """A boolean column as numpy; false where it is null."""
    values: Mask = (pc.fill_null(array, False) if array.null_count else array).to_numpy(zero_copy_only=False)
    return values


def valid(*arrays: pa.Array) -> Mask:
    """The rows where none of the columns is null."""
    mask = np.ones(len(arrays[0]), np.bool_)
    for array in arrays:
        if array.null_count:
            mask &= pc.is_valid(array).to_numpy(zero_copy_only=False)
    return mask


def column(values: Vector, kind: pa.DataType, rows: Mask | None = None) -> pa.Array:
    """`values` as an Arrow column of `kind`, null outside `rows`."""
    mask = None if rows is None or bool(rows.all()) else ~rows
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.array(np.asarray(values, np.int64), pa.int64(), mask=mask).view(kind)
    if pa.types.is_date32(kind):
        return pa.array(np.asarray(values, np.int32), pa.int32(), mask=mask).view(kind)
    return pa.array(values, kind, mask=mask)


def only(array: pa.Array, rows: Mask) -> pa.Array:
    """`array`, null outside `rows`."""
    if bool(rows.all()):
        return array
    return pc.if_else(pa.array(rows), array, pa.scalar(None, array.type))


def shown(value: pa.Scalar) -> str:
    """A value for a message; dates and times that Python does not have, beyond its year 9999, are told in numbers."""
    try:
        return str(value)
    except (OverflowError, ValueError):
        days = pa.types.is_date32(value.type)
        since = value.cast(pa.int32() if days else pa.int64())
        return f"1970-01-01 and {since} {'days' if days else 'microseconds'}"


def fail_at(bad: Mask, message: Callable[[int], str]) -> None:
    """Raise the error of the first bad row, if there is one."""
    if bool(bad.any()):
        raise RowError(message(int(np.argmax(bad))))

"""Evaluation of operations on bits; a shift counts modulo the width of the number, as in Java."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import Vector, column, fail_at, numbers, valid

_BINARY: dict[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "BitwiseAnd": pc.bit_wise_and,
    "BitwiseOr": pc.bit_wise_or,
    "BitwiseXor": pc.bit_wise_xor,
}


@evaluates(*_BINARY)
def _binary(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return _BINARY[call.function](args[0], args[1])


@evaluates("BitwiseNot")
def _not(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return pc.bit_wise_not(args[0])


@evaluates("ShiftLeft", "ShiftRight", "ShiftRightUnsigned")
def _shift(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    values, distances = numbers(args[0]), numbers(args[1])
    distances = (distances & (values.itemsize * 8 - 1)).astype(values.dtype)
    return column(_SHIFTS[call.function](values, distances), args[0].type, valid(*args))


def _shift_unsigned(values: Vector, distances: Vector) -> Vector:
    unsigned = np.dtype(f"u{values.itemsize}")
    shifted: Vector = values.view(unsigned) >> distances.view(unsigned)
    return shifted.view(values.dtype)


_SHIFTS: dict[str, Callable[[Vector, Vector], Vector]] = {
    "ShiftLeft": np.left_shift,
    "ShiftRight": np.right_shift,
    "ShiftRightUnsigned": _shift_unsigned,
}


@evaluates("BitwiseCount")
def _count(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    # A negative number counts as the long it would be, whatever its own width.
    longs: Vector = numbers(args[0]).astype(np.int64)
    return column(np.bitwise_count(longs.view(np.uint64)).astype(np.int32), pa.int32(), valid(args[0]))


@evaluates("BitwiseGet")
def _get(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    values, positions = numbers(args[0]), numbers(args[1])
    rows, width = valid(*args), values.itemsize * 8
    outside = (positions < 0) | (positions >= width)
    fail_at(
        outside & rows,
        lambda at: f"[INVALID_PARAMETER_VALUE] {call}: there is no bit {positions[at]}, only 0 to {width - 1}",
    )
    shifts = np.where(outside, 0, positions)
    return column(((values.astype(np.int64) >> shifts) & 1).astype(np.int8), pa.int8(), rows)

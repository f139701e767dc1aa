"""Evaluation of operations on bits; a shift counts modulo the width of the number, as in Java."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import Vector, column, numbers, valid

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

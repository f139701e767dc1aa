"""Mathematical functions of doubles, hashes, and conversions between number bases.

Spark's are Java's StrictMath, these the C library's: they may differ in the last bit, and only there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from headway.dataflow.expr import Call
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.expressions.rowwise import per_distinct, per_row
from headway.kernels.expressions.vectors import Vector, column, numbers, valid
from headway.kernels.murmur3 import murmur3
from headway.kernels.xxhash import xxhash64

Args = Sequence[pa.Array]
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNSIGNED = 2**64
_FACTORIALS = np.array([math.factorial(n) for n in range(21)], np.int64)


def _reciprocal(function: Callable[[Vector], Vector]) -> Callable[[Vector], Vector]:
    return lambda x: 1.0 / function(x)


_UNARY: dict[str, Callable[[Vector], Vector]] = {
    "Sqrt": np.sqrt,
    "Cbrt": np.cbrt,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Rint": np.rint,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Cot": _reciprocal(np.tan),
    "Sec": _reciprocal(np.cos),
    "Csc": _reciprocal(np.sin),
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Tanh": np.tanh,
    "Atanh": lambda x: 0.5 * (np.log1p(x) - np.log1p(-x)),
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Signum": lambda x: np.where(x == 0, x, np.sign(x)),
    "ToDegrees": lambda x: x * 57.29577951308232,
    "ToRadians": lambda x: x * 0.017453292519943295,
}


@evaluates(*_UNARY)
def _unary(call: Call, args: Args) -> pa.Array:
    with np.errstate(all="ignore"):
        return column(_UNARY[call.function](numbers(args[0])), pa.float64(), valid(args[0]))


_LOGARITHMS: dict[str, Callable[[Vector], Vector]] = {
    "Log": np.log,
    "Log10": np.log10,
    "Log2": lambda x: np.log(x) / np.log(2.0),
    "Log1p": np.log1p,
}


@evaluates(*_LOGARITHMS)
def _logarithm_of_one(call: Call, args: Args) -> pa.Array:
    """Null, not NaN or an infinity, where there is no logarithm."""
    values = numbers(args[0])
    asymptote = -1.0 if call.function == "Log1p" else 0.0
    with np.errstate(all="ignore"):
        return column(_LOGARITHMS[call.function](values), pa.float64(), valid(args[0]) & ~(values <= asymptote))


@evaluates("Logarithm")
def _logarithm(call: Call, args: Args) -> pa.Array:
    base, values = numbers(args[0]), numbers(args[1])
    rows = valid(*args) & ~(base <= 0) & ~(values <= 0)
    with np.errstate(all="ignore"):
        return column(np.log(values) / np.log(base), pa.float64(), rows)


@evaluates("Pow")
def _pow(call: Call, args: Args) -> pa.Array:
    base, exponent = numbers(args[0]), numbers(args[1])
    with np.errstate(all="ignore"):
        result = np.power(base, exponent)
    # In C one to the power of anything is one; in Java not of NaN nor of an infinity.
    result = np.where(np.isnan(exponent) | (np.abs(base) == 1) & np.isinf(exponent), np.nan, result)
    return column(result, pa.float64(), valid(*args))


@evaluates("Hypot", "Atan2")
def _of_two(call: Call, args: Args) -> pa.Array:
    function = np.hypot if call.function == "Hypot" else np.arctan2
    # Adding zero makes a negative zero positive, as Spark does before atan2.
    with np.errstate(all="ignore"):
        return column(function(numbers(args[0]) + 0.0, numbers(args[1]) + 0.0), pa.float64(), valid(*args))


@evaluates("Factorial")
def _factorial(call: Call, args: Args) -> pa.Array:
    values = numbers(args[0])
    inside = (values >= 0) & (values <= 20)
    return column(_FACTORIALS[np.where(inside, values, 0)], pa.int64(), valid(args[0]) & inside)


@evaluates("XxHash64")
def _xxhash64(call: Call, args: Args) -> pa.Array:
    hashes: Vector = np.full(len(args[0]), call.option("seed"), np.int64)
    for array in args:
        hashes = xxhash64(array, hashes)
    return pa.array(hashes)


@evaluates("Murmur3Hash")
def _murmur3(call: Call, args: Args) -> pa.Array:
    hashes: Vector = np.full(len(args[0]), call.option("seed"), np.int32)
    for array in args:
        hashes = murmur3(array, hashes)
    return pa.array(hashes)


@evaluates("Bin")
def _bin(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda number: f"{number % _UNSIGNED:b}", args[0], pa.string())


@evaluates("Conv")
def _conv(call: Call, args: Args) -> pa.Array:
    ansi = call.option("ansi")
    return per_row(lambda text, source, target: _converted(text, source, target, ansi), args, pa.string())


def _converted(text: str, source: int, target: int, ansi: bool) -> str | None:
    """The leading digits of `text` in another base, by way of 64 bits, which are signed if `target` is negative."""
    if not 2 <= source <= 36 or not 2 <= abs(target) <= 36 or not text:
        return None
    negative = text.startswith("-")
    digits = _DIGITS[:source]
    leading = re.match(f"[{digits}{digits.lower()}]*", text[negative:])
    assert leading is not None
    value = int(leading[0] or "0", source)
    if value >= _UNSIGNED:
        if ansi:
            raise RowError(f"[ARITHMETIC_OVERFLOW] {text!r} in base {source} needs more than 64 bits")
        value = _UNSIGNED - 1
    if negative and target > 0:
        value = _UNSIGNED - 1 if value >= _UNSIGNED // 2 else -value % _UNSIGNED
    if target < 0 and value >= _UNSIGNED // 2:
        value, negative = _UNSIGNED - value, True
    written = np.base_repr(value, abs(target))
    return "-" + written if negative and target < 0 else written


@evaluates("WidthBucket")
def _width_bucket(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    value, low, high, count = (numbers(arg) for arg in args)
    sound = ~np.isnan(value) & np.isfinite(low) & np.isfinite(high) & (low != high)
    rows = valid(*args) & sound & (count > 0) & (count < np.iinfo(np.int64).max)
    # Buckets may go down; then all is the other way round.
    sign = np.where(low < high, 1.0, -1.0)
    with np.errstate(all="ignore"):
        inside = count.astype(np.float64) * (value - low) / (high - low)
    below, above = sign * value < sign * low, sign * value >= sign * high
    place = np.where(
        below, 0, np.where(above, count + 1, np.where(rows & ~below & ~above, inside, 0).astype(np.int64) + 1)
    )
    return column(np.where(rows, place, 0), pa.int64(), rows)

"""Kernel source means what it says: beside Python's own arithmetic, wrapped to 64 bits, and IEEE 754's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.kernels.native.assemble import assembled, loaded
from headway.kernels.native.translate import translate

LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)
REALS = st.floats() | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5])
_numbers = iter(range(1_000_000))


def compiled(body: str) -> Any:
    """A function of a list of int64 (`header`, which it may write to) and a list of float64 (`reals`)."""
    prefix = f"t{next(_numbers)}_"
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    code = assembled(f"def kernel(header, constants, reals):\n{lines}\n", prefix)
    function = loaded(code, prefix, ("kernel",))["kernel"]

    def call(header: list[int], reals: list[float] | None = None) -> tuple[int, list[int]]:
        longs, doubles = np.array([*header, 0], np.int64), np.array([*(reals or []), 0.0], np.float64)
        result = function(longs.ctypes.data, longs.ctypes.data, doubles.ctypes.data)
        return result, longs.tolist()[:-1]

    return call


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


_INTEGERS = compiled("""
a = header[0]
b = header[1]
header[2] = a + b
header[3] = a - b
header[4] = a * b
header[5] = (a & b) | (a ^ ~b)
header[6] = a >> (b & 63)
header[7] = a << (b & 63)
header[8] = -a
header[9] = abs(a)
header[10] = min(a, b)
header[11] = max(a, b)
header[12] = a // 7
header[13] = i64(a < b) + i64(a <= b) + i64(a == b) + i64(a != b) + i64(a > b) + i64(a >= b)
header[14] = i64(a > 0 and b > 0) + 2 * i64(a > 0 or b > 0) + 4 * i64(not a)
header[15] = i64((a > 0) < (b > 0))
return 0
""")


@given(LONGS, LONGS)
@settings(max_examples=300, deadline=None)
def test_integers(a: int, b: int) -> None:
    shift = b & 63
    expected = [
        wrapped(a + b), wrapped(a - b), wrapped(a * b), (a & b) | (a ^ ~b), a >> shift, wrapped(a << shift),
        wrapped(-a), wrapped(abs(a)), min(a, b), max(a, b), a // 7,
        (a < b) + (a <= b) + (a == b) + (a != b) + (a > b) + (a >= b),
        (a > 0 and b > 0) + 2 * (a > 0 or b > 0) + 4 * (not a), (a > 0) < (b > 0),
    ]  # fmt: skip
    assert _INTEGERS([a, b, *[0] * 14])[1][2:] == expected


_FLOATS = compiled("""
a = reals[0]
b = reals[1]
header[0] = bits_f64(a + b)
header[1] = bits_f64(a - b)
header[2] = bits_f64(a * b)
header[3] = bits_f64(a / b)
header[4] = bits_f64(-a)
header[5] = bits_f64(abs(a))
header[6] = bits_f64(np.floor(a))
header[7] = bits_f64(np.rint(a))
header[8] = bits_f64(f64(f32(a)))
header[9] = bits_f64(f64(f32(a) * f32(b)))
header[10] = i64(a < b) + 2 * i64(a <= b) + 4 * i64(a == b) + 8 * i64(a != b) + 16 * i64(a > b) + 32 * i64(a >= b)
header[11] = bits_f64(a * header[12])
return i64(a != a)
""")


@given(REALS, REALS, st.integers(-(2**53), 2**53))
@settings(max_examples=300, deadline=None)
def test_floats(a: float, b: float, n: int) -> None:
    x, y = np.float64(a), np.float64(b)
    with np.errstate(all="ignore"):
        narrow = np.float32(x) * np.float32(y)
        floats = [
            x + y, x - y, x * y, x / y, -x, abs(x), np.floor(x), np.rint(x), np.float64(np.float32(x)),
            np.float64(narrow), x * np.float64(n),
        ]  # fmt: skip
        compared = (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b)
    result, header = _FLOATS([0] * 12 + [n], [a, b])
    assert result == (a != a)
    ours = np.array([*header[:10], header[11]], np.int64).view(np.float64)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(floats))
    same = ~np.isnan(ours)
    assert (ours[same].view(np.int64) == np.array(floats)[same].view(np.int64)).all()
    assert header[10] == compared


def test_loops_leave_where_they_say() -> None:
    kernel = compiled("""
total = i64(0)
seen = i64(0)
for i in range(header[0]):
    for j in range(i, header[0], 2):
        if j > 6: break
        total += j
    seen += 1
    if total > header[1]:
        header[1] = i
        return total
while True:
    seen += 1
    if seen >= 100: break
header[1] = seen
return -total
""")

    def expected(count: int, limit: int) -> tuple[int, list[int]]:
        total = 0
        for i in range(count):
            for j in range(i, count, 2):
                if j > 6:
                    break
                total += j
            if total > limit:
                return total, [count, i]
        return -total, [count, max(100, count + 1)]

    for count in range(12):
        for limit in (0, 5, 1000):
            assert kernel([count, limit]) == expected(count, limit)


def test_what_is_not_reached_is_not_computed() -> None:
    """A division by zero would end the process."""
    kernel = compiled("""
a = header[0]
x = sdiv(i64(10), a) if a != 0 else i64(-1)
if a != 0 and sdiv(i64(10), a) > 4: return 100 + x
return x
""")
    assert [kernel([a])[0] for a in (0, 1, 2, 5)] == [-1, 110, 105, 2]


def test_functions_of_the_library_keep_their_names_to_themselves() -> None:
    kernel = compiled("""
at = header[0]
value = header[1]
low = contains(header[2], i64(4), value)
header[0] = mix(at)
header[1] = value + i64(low)
return at
""")
    sorted_values = np.array([1, 5, 7, 9], np.int64)
    for value in range(10):
        result, header = kernel([value, value, sorted_values.ctypes.data])
        assert result == value
        assert header[1] == value + (value in sorted_values)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("x = header[0] ** 2\nreturn x", "Pow of i64"),
        ("x = unknown\nreturn x", "unknown in kernel source is not known"),
        ("x = [1]\nreturn 0", "List in kernel source: [1]"),
        ("x = header[0]\nx = reals[0]\nreturn x", "a double where a i64 was before"),
        ("with header: pass", "With in kernel source"),
        ("x = other(1)\nreturn x", "Call in kernel source: other(1)"),
    ],
)
def test_what_is_not_in_the_language_is_refused(body: str, reason: str) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    with pytest.raises(NotImplementedError) as raised:
        translate(f"def kernel(header, constants, reals):\n{lines}\n")
    assert reason in str(raised.value)

"""String functions: case, length, parts, search, padding.

Characters are Unicode code points. Constant arguments take Arrow's kernels, others Python, row by distinct row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call, Literal
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.rowwise import all_ascii, constant, is_constant, per_distinct, per_row

Args = Sequence[pa.Array]


@evaluates("Upper")
def _upper(call: Call, args: Args) -> pa.Array:
    """Arrow maps letter to letter, Spark ß to SS; so Arrow only where there is no such letter."""
    return pc.utf8_upper(args[0]) if all_ascii(args[0]) else per_distinct(str.upper, args[0], pa.string())


@evaluates("Lower")
def _lower(call: Call, args: Args) -> pa.Array:
    return pc.utf8_lower(args[0]) if all_ascii(args[0]) else per_distinct(str.lower, args[0], pa.string())


@evaluates("InitCap")
def _init_cap(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda s: " ".join(w[:1].title() + w[1:] for w in s.lower().split(" ")), args[0], pa.string())


@evaluates("Length")
def _length(call: Call, args: Args) -> pa.Array:
    measure = pc.utf8_length if pa.types.is_string(args[0].type) else pc.binary_length
    return pc.cast(measure(args[0]), pa.int32())


@evaluates("OctetLength")
def _octet_length(call: Call, args: Args) -> pa.Array:
    return pc.cast(pc.binary_length(args[0]), pa.int32())


@evaluates("BitLength")
def _bit_length(call: Call, args: Args) -> pa.Array:
    return pc.multiply(pc.cast(pc.binary_length(args[0]), pa.int32()), pa.scalar(8, pa.int32()))


@evaluates("Concat")
def _concat(call: Call, args: Args) -> pa.Array:
    return pc.binary_join_element_wise(*args, pa.scalar("" if args[0].type == pa.string() else b"", args[0].type))


@evaluates("ConcatWs")
def _concat_ws(call: Call, args: Args) -> pa.Array:
    separator, *parts = args
    if any(pa.types.is_list(part.type) for part in parts):
        return _joined(args)
    # Arrow's own way to skip nulls loses the rows that have nothing else.
    pieces = [pc.fill_null(pc.binary_join_element_wise(separator, part, ""), "") for part in parts]
    if not pieces or not is_constant(call, 0):
        return _joined(args)
    joined = pc.binary_join_element_wise(*pieces, "") if len(pieces) > 1 else pieces[0]
    return pc.utf8_slice_codeunits(joined, len(constant(call, 0)))


def _joined(args: Args) -> pa.Array:
    rows = zip(*(array.to_pylist() for array in args), strict=True)
    return pa.array([None if sep is None else sep.join(_texts(parts)) for sep, *parts in rows], pa.string())


def _texts(parts: Sequence[Any]) -> Iterator[str]:
    """The texts among `parts`, and in the arrays among them, that are not null."""
    for part in parts:
        if isinstance(part, list):
            yield from _texts(part)
        elif part is not None:
            yield part


@evaluates("Substring")
def _substring(call: Call, args: Args) -> pa.Array:
    text = args[0]
    if not is_constant(call, 1, 2):
        return per_row(_slice, args, text.type)
    position, length = constant(call, 1), constant(call, 2)
    cut = pc.utf8_slice_codeunits if pa.types.is_string(text.type) else pc.binary_slice
    if length <= 0:
        return pc.if_else(pc.is_valid(text), pa.scalar("" if text.type == pa.string() else b"", text.type), text)
    if position >= 0:
        start = max(position - 1, 0)
        return cut(text, start, min(start + length, 2**31 - 1))
    return cut(text, position, position + length if position + length < 0 else None)


def _slice(text: Any, position: int, length: int) -> Any:
    """SQL's substring of a str or bytes: positions from 1, or from the end if negative."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + max(length, 0), 0)]


@evaluates("StringTrim", "StringTrimLeft", "StringTrimRight")
def _trim(call: Call, args: Args) -> pa.Array:
    trim = {"StringTrim": pc.utf8_trim, "StringTrimLeft": pc.utf8_ltrim, "StringTrimRight": pc.utf8_rtrim}[
        call.function
    ]
    if len(args) == 1:
        return trim(args[0], " ")
    if is_constant(call, 1):
        return trim(args[0], constant(call, 1)) if constant(call, 1) else args[0]
    strip = {"StringTrim": str.strip, "StringTrimLeft": str.lstrip, "StringTrimRight": str.rstrip}[call.function]
    return per_row(lambda text, chars: strip(text, chars) if chars else text, args, pa.string())


@evaluates("StringLPad", "StringRPad")
def _pad(call: Call, args: Args) -> pa.Array:
    left = call.function == "StringLPad"
    if is_constant(call, 1, 2) and len(constant(call, 2)) == 1 and constant(call, 1) > 0:
        pad = pc.utf8_lpad if left else pc.utf8_rpad
        return pc.utf8_slice_codeunits(pad(args[0], constant(call, 1), constant(call, 2)), 0, constant(call, 1))
    return per_row(lambda text, width, pad: _padded(text, width, pad, left), args, pa.string())


def _padded(text: str, width: int, pad: str, left: bool) -> str:
    missing = width - len(text)
    if missing <= 0 or not pad:
        return text[: max(width, 0)]
    fill = (pad * (missing // len(pad) + 1))[:missing]
    return fill + text if left else text + fill


@evaluates("StringReplace")
def _replace(call: Call, args: Args) -> pa.Array:
    if is_constant(call, 1, 2):
        search = constant(call, 1)
        return pc.replace_substring(args[0], search, constant(call, 2)) if search else args[0]
    return per_row(lambda text, search, other: text.replace(search, other) if search else text, args, pa.string())


@evaluates("StringRepeat")
def _repeat(call: Call, args: Args) -> pa.Array:
    return pc.binary_repeat(args[0], pc.max_element_wise(args[1], 0, skip_nulls=False))


@evaluates("StringSpace")
def _space(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda n: " " * max(n, 0), args[0], pa.string())


@evaluates("Reverse")
def _reverse(call: Call, args: Args) -> pa.Array:
    return pc.utf8_reverse(args[0]) if pa.types.is_string(args[0].type) else pc.binary_reverse(args[0])


@evaluates("StringInstr")
def _instr(call: Call, args: Args) -> pa.Array:
    if is_constant(call, 1) and all_ascii(args[0]):
        return pc.add(pc.cast(pc.find_substring(args[0], constant(call, 1)), pa.int32()), pa.scalar(1, pa.int32()))
    return per_row(lambda text, part: text.find(part) + 1, args, pa.int32())


@evaluates("StringLocate")
def _locate(call: Call, args: Args) -> pa.Array:
    part, text, start = args
    if isinstance(call.args[2], Literal) and constant(call, 2) == 1:
        return _instr(Call(call.type, "StringInstr", (call.args[1], call.args[0])), (text, part))
    found = per_row(_find_from, (part, text, pc.fill_null(start, 0)), pa.int32())
    # A null start is position 0, whatever the strings are.
    return pc.if_else(pc.is_null(start), pa.scalar(0, pa.int32()), found)


def _find_from(part: str, text: str, start: int) -> int:
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


@evaluates("StartsWith", "EndsWith", "Contains")
def _affix(call: Call, args: Args) -> pa.Array:
    if is_constant(call, 1):
        match = {"StartsWith": pc.starts_with, "EndsWith": pc.ends_with, "Contains": pc.match_substring}[call.function]
        return match(args[0], constant(call, 1))
    tests: dict[str, Callable[..., bool]] = {"StartsWith": str.startswith, "EndsWith": str.endswith}
    test = tests.get(call.function, str.__contains__)
    return per_row(test, args, pa.bool_())


@evaluates("BinaryStartsWith", "BinaryEndsWith", "BinaryContains")
def _binary_affix(call: Call, args: Args) -> pa.Array:
    tests: dict[str, Callable[..., bool]] = {"BinaryStartsWith": bytes.startswith, "BinaryEndsWith": bytes.endswith}
    return per_row(tests.get(call.function, bytes.__contains__), args, pa.bool_())


@evaluates("SubstringIndex")
def _substring_index(call: Call, args: Args) -> pa.Array:
    if is_constant(call, 1, 2):
        delimiter, count = constant(call, 1), constant(call, 2)
        return per_distinct(lambda text: _part(text, delimiter, count), args[0], pa.string())
    return per_row(_part, args, pa.string())


def _part(text: str, delimiter: str, count: int) -> str:
    """What comes before the `count`-th delimiter, or after it counted from the end; delimiters may overlap."""
    if not delimiter or count == 0:
        return ""
    at = -1 if count > 0 else len(text) - len(delimiter) + 1
    for _ in range(abs(count)):
        at = text.find(delimiter, at + 1) if count > 0 else text.rfind(delimiter, 0, max(at - 1 + len(delimiter), 0))
        if at < 0:
            return text
    return text[:at] if count > 0 else text[at + len(delimiter) :]


@evaluates("StringTranslate")
def _translate(call: Call, args: Args) -> pa.Array:
    if is_constant(call, 1, 2):
        table = _translation(constant(call, 1), constant(call, 2))
        return per_distinct(lambda text: text.translate(table), args[0], pa.string())
    return per_row(lambda text, old, new: text.translate(_translation(old, new)), args, pa.string())


def _translation(old: str, new: str) -> dict[int, str | None]:
    table: dict[int, str | None] = {}
    for index, char in enumerate(old):
        table.setdefault(ord(char), new[index] if index < len(new) else None)
    return table


@evaluates("Overlay")
def _overlay(call: Call, args: Args) -> pa.Array:
    return per_row(_overlaid, args, args[0].type)


def _overlaid(text: Any, other: Any, position: int, length: int) -> Any:
    skipped = length if length >= 0 else len(other)
    return _slice(text, 1, position - 1) + other + _slice(text, position + skipped, 2**31 - 1)

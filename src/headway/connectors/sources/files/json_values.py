"""JSON values turned into values of Spark's types, with what is left of a record when one of them does not fit."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

from pyspark.sql import types as T

from headway.connectors.sinks.text_values import java_double
from headway.connectors.sources.files.json_tokens import Float, Malformed, Pairs, Scanner, Written, first_value
from headway.connectors.sources.files.values import TextRules, parse_decimal, parse_integer
from headway.errors import UnsupportedPlan
from headway.kernels.lists import build

Row = list[Any]
Convert = Callable[[Any], Any]

_BITS = {T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")
_NAMED_FLOATS = {
    "NaN": math.nan,
    "+INF": math.inf,
    "+Infinity": math.inf,
    "Infinity": math.inf,
    "-INF": -math.inf,
    "-Infinity": -math.inf,
}


class Unfit(ValueError):
    """A value that is not of its column's type; `rest` is what could be read of it."""

    def __init__(self, rest: Any = None) -> None:
        super().__init__("a value does not fit its column")
        self.rest = rest


class NeedsText(Exception):
    """A string column met a value whose text is needed, and the fast scanner does not keep it."""


class RowConverter:
    """Turns the text of a record into rows."""

    def __init__(self, fields: tuple[tuple[str, T.DataType], ...], rules: TextRules) -> None:
        self._struct = _struct_converter(fields, rules)

    def of_text(self, text: str) -> tuple[list[Row], bool]:
        """The record's rows, and whether something in them did not fit. Raises Malformed."""
        try:
            return self._rows(first_value(text)[0])
        except (Malformed, NeedsText):
            return self._rows(Scanner(text).value())

    def _rows(self, root: Any) -> tuple[list[Row], bool]:
        value = root.value if isinstance(root, Written) else root
        if isinstance(value, Pairs):
            return _one(self._struct, value)
        if not isinstance(value, list):
            raise Malformed("neither an object nor an array")
        results = [self._element(element) for element in value]
        return [row for rows, _ in results for row in rows], any(bad for _, bad in results)

    def _element(self, element: Any) -> tuple[list[Row], bool]:
        value = element.value if isinstance(element, Written) else element
        if not isinstance(value, Pairs):
            raise Malformed("an array at the top may hold objects only")
        return _one(self._struct, value)


def column_of(values: list[Any], spark_type: T.DataType) -> Any:
    """Converted values as an Arrow column."""
    return build(values, spark_type)


def converter_of(spark_type: T.DataType, rules: TextRules) -> Convert:
    """A function from a token to a value that Arrow takes; it raises ValueError for what does not fit."""
    if isinstance(spark_type, T.StructType):
        return _struct_converter(tuple((f.name, f.dataType) for f in spark_type.fields), rules)
    if isinstance(spark_type, T.ArrayType):
        return _array_converter(spark_type, rules)
    if isinstance(spark_type, T.MapType):
        return _map_converter(spark_type, rules)
    if type(spark_type) in _BITS:
        return lambda value: _integer(value, _BITS[type(spark_type)])
    if isinstance(spark_type, T.DecimalType):
        return lambda value: _decimal(value, spark_type)
    simple: dict[type[T.DataType], Convert] = {
        T.BooleanType: _boolean,
        T.ByteType: _byte,
        T.FloatType: _float,
        T.DoubleType: _float,
        T.BinaryType: _binary,
        T.NullType: lambda value: None,
        T.DateType: lambda value: _date(_text(value), rules),
        T.TimestampType: lambda value: _timestamp(value, rules),
        T.TimestampNTZType: lambda value: rules.timestamp_ntz(_text(value)),
    }
    found = simple.get(type(spark_type))
    if found is None and not isinstance(spark_type, T.StringType):
        raise UnsupportedPlan(f"type {spark_type.simpleString()} in JSON")
    return found or (_string if rules.exact else _rewritten)


def _one(struct: Convert, value: Pairs) -> tuple[list[Row], bool]:
    try:
        return [struct(value)], False
    except Unfit as unfit:
        return [unfit.rest], True


def _struct_converter(fields: tuple[tuple[str, T.DataType], ...], rules: TextRules) -> Convert:
    by_name: dict[str, tuple[int, Convert, bool]] = {
        name: (index, converter_of(kind, rules), isinstance(kind, T.StringType))
        for index, (name, kind) in enumerate(fields)
    }
    width = len(fields)

    def convert(pairs: Any) -> Row:
        if not isinstance(pairs, Pairs):
            raise Unfit
        row: Row = [None] * width
        fits = True
        for name, token in pairs:
            found = by_name.get(name)
            if found is None:
                continue
            index, convert_field, is_string = found
            value = token.value if isinstance(token, Written) else token
            try:
                if value is None:
                    row[index] = None
                else:
                    row[index] = convert_field(token if is_string else value)
            except Unfit as unfit:
                fits = False
                if unfit.rest is not None:
                    row[index] = unfit.rest
            except Malformed:
                raise
            except ValueError:
                fits = False
        if not fits:
            raise Unfit(row)
        return row

    return convert


def _array_converter(spark_type: T.ArrayType, rules: TextRules) -> Convert:
    item = _ItemConverter(spark_type.elementType, rules)

    def convert(tokens: Any) -> list[Any]:
        if not isinstance(tokens, list) or isinstance(tokens, Pairs):
            raise Unfit
        items = [item(token) for token in tokens]
        return _all_or_rest([value for value, _ in items], items)

    return convert


def _map_converter(spark_type: T.MapType, rules: TextRules) -> Convert:
    """Keys are the names of an object; of one that comes twice, the last value counts."""
    if not isinstance(spark_type.keyType, T.StringType):
        raise UnsupportedPlan(f"type {spark_type.simpleString()} in JSON", "keys must be strings")
    item = _ItemConverter(spark_type.valueType, rules)

    def convert(pairs: Any) -> list[Any]:
        if not isinstance(pairs, Pairs):
            raise Unfit
        items = [item(token) for _, token in pairs]
        return _all_or_rest([(name, value) for (name, _), (value, _) in zip(pairs, items, strict=True)], items)

    return convert


def _all_or_rest(values: list[Any], items: list[tuple[Any, bool]]) -> list[Any]:
    """`values`, unless an item does not fit: then the rest of it counts, and without one there is nothing."""
    if all(fits for _, fits in items):
        return values
    raise Unfit(values if all(fits or rest is not None for rest, fits in items) else None)


class _ItemConverter:
    """Converts an element of an array or a value of a map; tells whether it fits."""

    def __init__(self, spark_type: T.DataType, rules: TextRules) -> None:
        self._convert = converter_of(spark_type, rules)
        self._is_string = isinstance(spark_type, T.StringType)

    def __call__(self, token: Any) -> tuple[Any, bool]:
        value = token.value if isinstance(token, Written) else token
        if value is None:
            return None, True
        try:
            return self._convert(token if self._is_string else value), True
        except Unfit as unfit:
            return unfit.rest, False
        except Malformed:
            raise
        except ValueError:
            return None, False


def _string(token: Any) -> str:
    """A string as it is, anything else as it is written."""
    if isinstance(token, Written):
        return token.value if type(token.value) is str else token.text
    if isinstance(token, str):
        return str(token)
    if token is True or token is False:
        return "true" if token else "false"
    if isinstance(token, int) and token != 0:
        return str(token)
    raise NeedsText


def _rewritten(token: Any) -> str:
    """A string as it is, anything else as JSON is written."""
    value = token.value if isinstance(token, Written) else token
    return value if type(value) is str else written(value)


def written(value: Any) -> str:
    """A value as JSON without blanks, numbers as Java prints them."""
    value = value.value if isinstance(value, Written) else value
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{encode_basestring(name)}:{written(token)}" for name, token in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, Float):
        return java_double(float(value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return encode_basestring(value) if isinstance(value, str) else str(value)


def _byte(value: Any) -> int:
    """Spark's parser takes 128 to 255 for the bytes that they are without sign."""
    if type(value) is not int or not -128 <= value <= 255:
        raise Unfit
    return value if value < 128 else value - 256


def _integer(value: Any, bits: int) -> int:
    if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise Unfit
    return value


def _float(value: Any) -> float:
    if type(value) is str:
        if value not in _NAMED_FLOATS:
            raise Unfit
        return _NAMED_FLOATS[value]
    if type(value) is not int and not isinstance(value, Float):
        raise Unfit
    try:
        return float(value)
    except OverflowError:
        return math.inf if int(value) > 0 else -math.inf


def _decimal(value: Any, target: T.DecimalType) -> Any:
    if type(value) is not int and not isinstance(value, str):
        raise Unfit
    text = value if isinstance(value, str) else str(value)
    return parse_decimal(text if isinstance(value, Float) else text.replace(",", ""), target)


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise Unfit
    return value


def _binary(value: Any) -> bytes:
    text = _text(value, least=0)
    if len(text) % 4 == 1 and _BASE64.fullmatch(text):
        # Spark's parser loses its place in the record there.
        raise Malformed("text that is no base64")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise Unfit from error


def _text(value: Any, least: int = 1) -> str:
    if type(value) is not str or len(value) < least:
        raise Unfit
    return value


def _date(text: str, rules: TextRules) -> int:
    """Without a pattern, a number in quotes counts days, as very old Spark wrote them."""
    try:
        return rules.date(text)
    except ValueError:
        if rules.date_pattern is not None:
            raise
        return parse_integer(text, 32)


def _timestamp(value: Any, rules: TextRules) -> int:
    if type(value) is int:
        micros = value * 1_000_000
        # Java multiplies in 64 bits and lets them overflow.
        if not -(2**63) <= value < 2**63:
            raise Unfit
        return (micros + 2**63) % 2**64 - 2**63
    return rules.timestamp(_text(value))

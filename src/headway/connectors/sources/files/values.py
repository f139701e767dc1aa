"""Text turned into values of Spark's types: fields of CSV files, dates and times of JSON, names of directories."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.connectors.sources.files.content import BadFile
from headway.connectors.sources.files.moments import parse_date, parse_timestamp, parse_timestamp_ntz
from headway.connectors.sources.files.patterns import compile_pattern
from headway.connectors.sources.options import session_setting
from headway.dataflow.graph import Source
from headway.dataflow.types import Field, Schema, arrow_type
from headway.errors import UnsupportedPlan

_WHITE = "".join(map(chr, range(33)))
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FLOAT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?", re.ASCII)
_NAMED_FLOAT = re.compile(r"([+-]?)(NaN|Infinity)")
_BITS = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}

Parse = Callable[[str], Any]


@dataclass(frozen=True)
class TextRules:
    """The options that decide how text becomes values. Patterns are None where Spark's cast decides."""

    zone: str = "UTC"
    date_pattern: str | None = None
    timestamp_pattern: str | None = None
    ntz_pattern: str | None = None
    nan: str = "NaN"
    positive_inf: str = "Inf"
    negative_inf: str = "-Inf"
    exact: bool = True

    def date(self, text: str) -> int:
        if self.date_pattern is not None:
            return _known(compile_pattern(self.date_pattern).date(text), text)
        return _known(parse_date(text.replace("GMT", "")), text)

    def timestamp(self, text: str) -> int:
        if self.timestamp_pattern is not None:
            return _known(compile_pattern(self.timestamp_pattern).timestamp(text, self.zone), text)
        micros = parse_timestamp(text, self.zone)
        return _known(parse_timestamp(text.replace("GMT", ""), self.zone) if micros is None else micros, text)

    def timestamp_ntz(self, text: str) -> int:
        if self.ntz_pattern is not None:
            return _known(compile_pattern(self.ntz_pattern).timestamp_ntz(text), text)
        return _known(parse_timestamp_ntz(text), text)


def rules_of(source: Source) -> TextRules:
    """The rules that a source's options ask for; `timezone` was put there in the driver."""
    date, timestamp, ntz = (source.option(name) for name in ("dateFormat", "timestampFormat", "timestampNTZFormat"))
    for pattern in (date, timestamp, ntz):
        if pattern is not None:
            compile_pattern(pattern)
    if session_setting("spark.sql.legacy.timeParserPolicy", "CORRECTED").upper() != "CORRECTED":
        raise UnsupportedPlan("setting spark.sql.legacy.timeParserPolicy", "only CORRECTED is read natively")
    return TextRules(
        zone=source.option("timezone") or "UTC",
        date_pattern=date,
        timestamp_pattern=timestamp,
        ntz_pattern=ntz,
        nan=source.option("nanValue") or "NaN",
        positive_inf=source.option("positiveInf") or "Inf",
        negative_inf=source.option("negativeInf") or "-Inf",
    )


def parser_of(spark_type: T.DataType, rules: TextRules) -> Parse:
    """A function from a text to a value that Arrow takes for the type; it raises ValueError for any other text."""
    if type(spark_type) in _BITS:
        return lambda text: parse_integer(text, _BITS[type(spark_type)])
    if isinstance(spark_type, T.DecimalType):
        # Commas group thousands.
        return lambda text: parse_decimal(text.replace(",", ""), spark_type)
    simple: dict[type[T.DataType], Parse] = {
        T.StringType: str,
        T.BinaryType: lambda text: text.encode(),
        T.BooleanType: _boolean,
        T.FloatType: lambda text: _float(text, rules),
        T.DoubleType: lambda text: _float(text, rules),
        T.DateType: rules.date,
        T.TimestampType: rules.timestamp,
        T.TimestampNTZType: rules.timestamp_ntz,
    }
    found = simple.get(type(spark_type))
    if found is None:
        raise UnsupportedPlan(f"type {spark_type.simpleString()} in text files")
    return found


def convert(tokens: Any, spark_type: T.DataType, rules: TextRules) -> tuple[Any, Any]:
    """A string column as a column of the type, and a mask of the values that were no such value (null there)."""
    fast = _convert_fast(tokens, spark_type)
    if fast is not None:
        return fast, np.zeros(len(tokens), dtype=bool)
    encoded = tokens.dictionary_encode()
    parse, values, bad = parser_of(spark_type, rules), [], []
    for text in encoded.dictionary.to_pylist():
        value, wrong = _try(parse, text)
        values.append(value)
        bad.append(wrong)
    indices = encoded.indices
    column = to_arrow(values, spark_type).take(indices)
    mask = np.array([*bad, False], dtype=bool)[indices.fill_null(len(bad)).to_numpy(zero_copy_only=False)]
    return column, mask


def to_arrow(values: list[Any], spark_type: T.DataType) -> Any:
    """Parsed values as an Arrow column; dates and times are numbers until here."""
    target = arrow_type(spark_type)
    if isinstance(spark_type, T.DateType):
        return pa.array(values, pa.int32()).cast(target)
    if isinstance(spark_type, T.TimestampType | T.TimestampNTZType):
        return pa.array(values, pa.int64()).cast(target)
    if isinstance(spark_type, T.FloatType):
        return pa.array(values, pa.float64()).cast(target, safe=False)
    return pa.array(values, target)


def parse_integer(text: str, bits: int) -> int:
    """A whole number that fits `bits`."""
    if not _INTEGER.fullmatch(text) or len(text) > 40:
        raise ValueError(f"{text!r} is no whole number")
    value = int(text)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{text} does not fit {bits} bits")
    return value


def parse_decimal(text: str, target: T.DecimalType) -> Decimal:
    """A decimal rounded half up to the type's scale; ValueError if it then has too many digits."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is no decimal number")
    with localcontext() as context:
        context.prec = 200
        try:
            value = Decimal(text).quantize(Decimal(1).scaleb(-target.scale), ROUND_HALF_UP)
        except ArithmeticError as error:
            raise ValueError(f"{text} does not fit {target.simpleString()}") from error
        if value and value.adjusted() >= target.precision - target.scale:
            raise ValueError(f"{text} does not fit {target.simpleString()}")
        return value


class DirectoryValues:
    """The columns that a file's directories give, to be put between those that the file gives."""

    def __init__(self, values: Mapping[str, str | None], schema: Schema, zone: str) -> None:
        lower = {name.lower(): value for name, value in values.items()}
        self._schema = schema
        self._values = {
            field.name: self._parsed(field, lower[field.name.lower()], zone)
            for field in schema
            if field.name.lower() in lower
        }
        self.in_files = tuple(field for field in schema if field.name not in self._values)
        """The rest of the schema, which the file itself must give."""

    def add_to(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self._values:
            return batch
        columns, position = [], 0
        for field in self._schema:
            if field.name in self._values:
                one = to_arrow([self._values[field.name]], field.type)
                columns.append(one.take(pa.array(np.zeros(batch.num_rows, dtype=np.int64))))
            else:
                columns.append(batch.column(position))
                position += 1
        fields = [pa.field(field.name, arrow_type(field.type)) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def _parsed(self, field: Field, text: str | None, zone: str) -> Any:
        if text is None:
            return None
        try:
            return parser_of(field.type, TextRules(zone))(text)
        except ValueError as error:
            raise BadFile(
                f"directory {field.name}={text} has no value of type {field.type.simpleString()} ({error}): give the "
                "column another type in the schema, or rename the directory"
            ) from error


def _try(parse: Parse, text: str) -> tuple[Any, bool]:
    try:
        return parse(text), False
    except ValueError:
        return None, True


def _known(value: int | None, text: str) -> int:
    if value is None:
        raise ValueError(f"{text!r} is no date or time of the form that is asked for")
    return value


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _float(text: str, rules: TextRules) -> float:
    special = {rules.nan: math.nan, rules.negative_inf: -math.inf, rules.positive_inf: math.inf}
    if text in special:
        return special[text]
    text = text.strip(_WHITE)
    named = _NAMED_FLOAT.fullmatch(text)
    if named:
        return math.nan if named[2] == "NaN" else float(named[1] + "inf")
    found = _FLOAT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no number")
    return float(found[1])


_PLAIN = {
    T.IntegerType: r"^-?[0-9]{1,9}$",
    T.LongType: r"^-?[0-9]{1,18}$",
    T.DoubleType: r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$",
}


def _convert_fast(tokens: Any, spark_type: T.DataType) -> Any:
    """The whole column at once, where all its values are written plainly; None if they are not."""
    if isinstance(spark_type, T.StringType):
        return tokens
    plain = _PLAIN.get(type(spark_type))
    if plain is None or not pc.all(pc.match_substring_regex(tokens, plain), min_count=0).as_py():
        return None
    return tokens.cast(arrow_type(spark_type))

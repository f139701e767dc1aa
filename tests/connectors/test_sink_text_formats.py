"""Json, csv and text files are, byte for byte, what Spark writes."""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T
from sink_cases import EVERY_TYPE, EVERY_VALUE, PAIRS, frame, make, pairs, rows, run_epoch

from headway.connectors.sinks.text_values import java_double, java_float
from headway.dataflow.types import Field, Schema
from headway.errors import InvalidOption, UnsupportedPlan

FLAT = EVERY_TYPE[:-1]
FLAT_VALUES = [{name: value for name, value in row.items() if name != "window"} for row in EVERY_VALUE]
TEXT: Schema = (Field("a", T.StringType()), Field("b c", T.StringType()))


def both(
    spark: SparkSession, tmp_path: Path, format: str, schema: Schema, values: list[dict[str, Any]], **options: str
) -> tuple[str, str]:
    """What Headway and Spark write for the same rows."""
    batch = rows(schema, values)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    run_epoch(make(spark, format, schema, options={"path": str(ours), **options}), 0, batch)
    frame(spark, schema, batch).coalesce(1).write.format(format).options(**options).save(str(theirs))
    return _content(ours), _content(theirs)


def _content(folder: Path) -> str:
    (file,) = folder.glob("part-*")
    data = file.read_bytes()
    return (gzip.decompress(data) if file.name.endswith(".gz") else data).decode()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ignoreNullFields": "false"},
        {"timeZone": "Asia/Kolkata"},
        {"timeZone": "UTC"},
        {"lineSep": "\r\n"},
        {"timeZone": "+05:30"},
    ],
)
def test_json(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    ours, theirs = both(spark, tmp_path, "json", EVERY_TYPE, EVERY_VALUE, **options)
    assert ours == theirs


def test_json_of_arrays(spark: SparkSession, tmp_path: Path) -> None:
    pair = T.StructType([T.StructField("x", T.DoubleType()), T.StructField("t", T.TimestampType())])
    schema: Schema = (Field("n", T.ArrayType(T.IntegerType())), Field("p", T.ArrayType(pair)))
    time = EVERY_VALUE[0]["time"]
    values: list[dict[str, Any]] = [
        {"n": [1, None, 3], "p": [{"x": 0.5, "t": time}, None]},
        {"n": [], "p": None},
        {"n": None, "p": []},
    ]
    ours, theirs = both(spark, tmp_path, "json", schema, values)
    assert ours == theirs


@pytest.mark.parametrize("options", [{}, {"header": "true"}, {"quoteAll": "true"}, {"nullValue": "-", "sep": ";"}])
def test_csv_of_every_type(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    ours, theirs = both(spark, tmp_path, "csv", FLAT, FLAT_VALUES, **options)
    assert ours == theirs


def nasty_strings(seed: int, count: int) -> list[dict[str, Any]]:
    """Rows of strings made of what csv gives a meaning to."""
    source = random.Random(seed)
    alphabet = ["a", "b", '"', "'", ",", ";", "\\", "\n", "\r", " ", "\t", "#", "é", "", "\r\n", "\x01"]

    def text() -> str | None:
        return source.choice([None, "".join(source.choices(alphabet, k=source.randint(0, 6)))])

    return [{"a": text(), "b c": text()} for _ in range(count)]


CSV_OPTIONS: list[dict[str, str]] = [
    {},
    {"header": "true", "sep": ";"},
    {"quoteAll": "true"},
    {"quoteAll": "true", "nullValue": "NULL", "emptyValue": "EMPTY"},
    {"escapeQuotes": "false"},
    {"escape": '"'},
    {"quote": "'", "escape": "#"},
    {"nullValue": "a", "emptyValue": "b"},
    {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"},
    {"ignoreTrailingWhiteSpace": "false"},
    {"sep": "\t"},
]


@pytest.mark.parametrize("options", CSV_OPTIONS)
def test_csv_quotes_as_spark_does(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    ours, theirs = both(spark, tmp_path, "csv", TEXT, nasty_strings(7, 400), **options)
    assert ours.splitlines() == theirs.splitlines()
    assert ours == theirs


def test_compressed_lines(spark: SparkSession, tmp_path: Path) -> None:
    ours, theirs = both(spark, tmp_path, "json", EVERY_TYPE, EVERY_VALUE, compression="gzip")
    assert ours == theirs
    (file,) = (tmp_path / "ours").glob("part-*")
    assert file.name.endswith(".json.gz")


def test_text(spark: SparkSession, tmp_path: Path) -> None:
    values = [{"value": "one"}, {"value": None}, {"value": ""}, {"value": "ü, two"}]
    schema = (Field("value", T.StringType()),)
    ours, theirs = both(spark, tmp_path, "text", schema, values)
    assert ours == theirs


def test_partitioned_json(spark: SparkSession, tmp_path: Path) -> None:
    sink = make(spark, "json", options={"path": str(tmp_path)}, partition_by=("k",))
    run_epoch(sink, 0, pairs(1, 2), pairs(2))
    read = spark.read.schema("s string, k long").json(str(tmp_path))
    assert sorted((r.k, r.s) for r in read.collect()) == [(1, "s1"), (2, "s2"), (2, "s2")]


@pytest.mark.parametrize(
    "value",
    [0.0, -0.0, 1.0, 0.001, 0.00099, 9999999.0, 1e7, 1.25e-5, 123456789.0, 5e-324, 1.7976931348623157e308],
)
def test_floating_numbers_print_as_in_java(spark: SparkSession, value: float) -> None:
    text = spark._jvm.java.lang.String
    assert float(java_double(value)) == value
    if value != 5e-324:  # Java before 19 prints more digits of the smallest one
        assert java_double(value) == text.valueOf(value)
    assert java_float(0.1) == "0.1"


def test_what_they_refuse(spark: SparkSession, tmp_path: Path) -> None:
    path = {"path": str(tmp_path)}
    with pytest.raises(InvalidOption, match="one column of strings"):
        make(spark, "text", PAIRS, options=path)
    with pytest.raises(InvalidOption, match="'window' of type struct"):
        make(spark, "csv", EVERY_TYPE, options=path)
    with pytest.raises(InvalidOption, match="one character"):
        make(spark, "csv", PAIRS, options={**path, "quote": "ab"})
    with pytest.raises(InvalidOption, match="true or false"):
        make(spark, "csv", PAIRS, options={**path, "header": "yes"})
    with pytest.raises(UnsupportedPlan, match="timestampFormat"):
        make(spark, "csv", PAIRS, options={**path, "timestampFormat": "yyyy"})
    with pytest.raises(UnsupportedPlan, match="ignoreLeadingWhiteSpace"):
        make(spark, "csv", PAIRS, options={**path, "ignoreLeadingWhiteSpace": "false"})
    with pytest.raises(UnsupportedPlan, match="time zone"):
        make(spark, "json", PAIRS, options={**path, "timeZone": "Mars/Olympus"})

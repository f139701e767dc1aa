"""String and binary functions, on edges and on random text."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from oracle import check, lower
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headway.errors import UnsupportedPlan

SCHEMA = "s string, t string, i int, l bigint, b binary"
ROWS = [
    ("", "", 0, 0, b""),
    ("a", "a", 1, 65, b"a"),
    ("abc", "b", 2, 255, b"\x00\xff"),
    ("  Hello World  ", "o", -3, 256, b"Hello"),
    ("ßtraße É", "ß", 3, -1, "é😀".encode()),
    ("a😀b😀c", "😀", -1, 9731, b"x" * 100),
    ("a.b.c.d", ".", 2, 321, b"a.b"),
    ("www||x||y", "||", -2, 48, b"||"),
    ("aaaa", "aa", 2, 10, b"aaaa"),
    ("line\nbreak\r\n", "\n", 5, 13, b"\n"),
    ("100%_sure\\", "%", 100, 2**63 - 1, b"100"),
    ("2024-01-02 03:04:05", "-", -100, -(2**63), b"2024"),
    (None, "x", 1, 1, None),
    ("x", None, None, None, b"y"),
    (None, None, None, None, None),
]
FUNCTIONS = [
    *("upper(s)", "lower(s)", "initcap(s)", "length(s)", "length(b)", "octet_length(s)", "bit_length(b)", "reverse(s)"),
    *(
        "s || t",
        "concat(s, '-', t)",
        "concat(b, b)",
        "concat_ws(',', s, t)",
        "concat_ws(t, s, 'x')",
        "concat_ws('-', t)",
    ),
    *("substring(s, 2, 3)", "substring(s, -3, 2)", "substring(s, 0, 2)", "substring(s, -100, 98)", "substring(s, 2)"),
    *(
        "substring(s, i, 2)",
        "substring(s, 2, i)",
        "substring(b, 2, 3)",
        "substring(b, -2)",
        "left(s, 3)",
        "right(s, 3)",
    ),
    *("trim(s)", "ltrim(s)", "rtrim(s)", "trim('a' from s)", "trim(BOTH t FROM s)", "trim(LEADING ' H' FROM s)"),
    *("lpad(s, 5, 'x')", "rpad(s, 5)", "lpad(s, 12, 'xyz')", "rpad(s, i, t)", "lpad(s, 0, 'x')", "lpad(s, 4, '')"),
    *("replace(s, 'a', 'bb')", "replace(s, t, '_')", "replace(s, '', 'x')", "repeat(s, 2)", "repeat(s, i)", "space(i)"),
    *("instr(s, 'b')", "instr(s, t)", "locate('a', s)", "locate(t, s, 2)", "locate('', s, 3)", "locate('a', s, i)"),
    *(
        "startswith(s, 'a')",
        "endswith(s, t)",
        "contains(s, t)",
        "startswith(b, b)",
        "contains(b, X'61')",
        "endswith(b, b)",
    ),
    *(
        "substring_index(s, '.', 2)",
        "substring_index(s, '.', -2)",
        "substring_index(s, t, i)",
        "substring_index(s, 'aa', -1)",
    ),
    *("translate(s, 'abc', 'xy')", "translate(s, t, 'Z')", "overlay(s placing 'X' from 2)", "overlay(s, t, i, 1)"),
    *(
        "ascii(s)",
        "chr(l)",
        "base64(b)",
        "unbase64(base64(b))",
        "hex(s)",
        "hex(b)",
        "hex(l)",
        "unhex(hex(b))",
        "unhex(s)",
    ),
    *("md5(s)", "sha1(b)", "sha2(b, 0)", "sha2(s, 512)", "sha2(s, i)", "crc32(s)", "encode(s, 'utf-8')", "soundex(s)"),
    *(
        "levenshtein(s, t)",
        "levenshtein(s, t, 2)",
        "find_in_set(t, s)",
        "format_number(l, 2)",
        "format_number(i / 7, 3)",
    ),
    *("decode(encode(s, 'UTF-8'), 'UTF-8')", "cast(b as string) is null"),
]
PATTERNS = [
    *(
        "s like 'a%'",
        "s like '%b%'",
        "s like '_b_'",
        "s like '100\\\\%\\\\_sure%'",
        "s like '%\\n%'",
        "s ilike 'A%'",
        "s like ''",
    ),
    *(
        "s rlike 'a.*c'",
        "s rlike '^a'",
        "s rlike 'd$'",
        "s rlike '[a-c]+'",
        "s rlike '\\\\d{4}-\\\\d\\\\d'",
        "s rlike 'k.*'",
    ),
    *(
        "s rlike '(?i)HELLO'",
        "s rlike '(a)\\\\1'",
        "s rlike 'k$'",
        "s rlike '\\\\s'",
        "s rlike '\\\\bWorld\\\\b'",
        "s rlike '(?<=a)a'",
    ),
    *("regexp_replace(s, 'a', 'b')", "regexp_replace(s, '(\\\\w)(\\\\w)', '$2$1')", "regexp_replace(s, 'a*b', '-')"),
    *("regexp_replace(s, '\\\\.', '')", "regexp_replace(s, '.', '#')", "regexp_replace(s, '[^a-z]+', '\\\\$')"),
    *("regexp_extract(s, '(\\\\d+)-(\\\\d+)', 2)", "regexp_extract(s, 'a(x)?', 1)", "regexp_extract(s, '\\\\w+', 0)"),
    *(
        "regexp_extract(s, '([(]|a|\\\\()(?:l+)(o)?', 1)",
        "regexp_extract(s, 'l|o|a', 0)",
        "regexp_extract(s, '^(.)(.*?)(l|b)', 2)",
    ),
    *(
        "regexp_extract(s, '(a|b|l)*(.)', 1)",
        "regexp_extract(s, 'a{1001}|(b)', 1)",
        "regexp_extract(s, '(?:(a)|b)+', 1)",
    ),
]


def test_functions(spark: SparkSession) -> None:
    check(spark, FUNCTIONS, ROWS, SCHEMA)


def test_patterns(spark: SparkSession) -> None:
    check(spark, PATTERNS, ROWS, SCHEMA)


@pytest.mark.parametrize(
    "expression",
    [
        *("s like t", "s rlike t", "s rlike '[a-z&&[^b]]'", "s rlike '\\\\p{javaLowerCase}'", "s rlike '\\\\R'"),
        *("regexp_replace(s, 'a', '$1')", "encode(s, 'utf-16')", "split(s, t)", "sentences(s)"),
    ],
)
def test_what_is_refused_is_named(spark: SparkSession, expression: str) -> None:
    frame = spark.range(1).select(F.col("id").cast("string").alias("s"), F.col("id").cast("string").alias("t"))
    with pytest.raises(UnsupportedPlan, match=r"Like|regular|replacement|character set|StringSplit|getSentences"):
        lower(frame.select(F.expr(expression)))


@pytest.mark.parametrize("expression", ["decode(b, 'utf-8')", "to_binary(t, 'hex')"])
def test_bad_input(spark: SparkSession, expression: str) -> None:
    check(spark, [expression], [("x", "xyz", 1, 1, b"\xff\xfe")], SCHEMA)


TEXTS = st.none() | st.text(st.sampled_from("aAbB .,-_%zZé😀ß\n\t10"), max_size=12)
RANDOM = st.tuples(
    TEXTS, TEXTS, st.none() | st.integers(-8, 8), st.none() | st.integers(-300, 300), st.none() | st.binary(max_size=9)
)


@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(RANDOM, min_size=80, max_size=80))
def test_random_text(spark: SparkSession, rows: list[tuple[Any, ...]]) -> None:
    check(spark, FUNCTIONS + PATTERNS, rows, SCHEMA)

"""CSV, JSON and text files give the rows that Spark gives for the same files and options."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T
from source_helpers import Driver, arrow_rows, multiset, source_of, struct_of

from headway.connectors.sources.files.content import BadFile
from headway.errors import InvalidOption, UnsupportedPlan

_directories = itertools.count()


@pytest.fixture
def same(spark, tmp_path):
    """Checks that Spark and Headway read the same rows; gives how many."""

    def check(format, schema, files, **options):
        struct = struct_of(schema) if isinstance(schema, str) else schema
        directory = tmp_path / str(next(_directories))
        write(directory, files)
        text = {key: str(value) for key, value in options.items()}
        expected = arrow_rows(spark.read.format(format).schema(struct).options(**text).load(str(directory)).toArrow())
        got = arrow_rows(Driver(source_of(format, struct, path=directory, **options)).tables())
        assert multiset(got) == multiset(expected)
        return len(got)

    return check


def write(directory: Path, files):
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content if isinstance(content, bytes) else content.encode())


KINDS = ["byte", "short", "int", "long", "float", "double", "boolean", "string", "binary"]
KINDS += ["decimal(10,2)", "decimal(38,10)"]
WORDS = "x string, y string, z string, _corrupt_record string"


def noise(seed, alphabet, count=1500, longest=14):
    rnd = random.Random(seed)
    return ["".join(rnd.choices(alphabet, k=rnd.randint(1, longest))) for _ in range(count)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"escape": '"'},
        {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True},
        {"nullValue": "a", "emptyValue": "b"},
        {"quote": "", "comment": "b", "header": True},
        {"quote": "'", "escape": "a"},
        {"escape": "", "sep": " ", "mode": "DROPMALFORMED"},
        {"multiLine": True},
        {"multiLine": True, "escape": '"', "header": True, "comment": "b"},
    ],
    ids=str,
)
def test_csv_fields_end_where_they_end_in_spark(same, options):
    assert same("csv", WORDS, {"a.csv": "\n".join(noise(1, "a\"\\, b1'"))}, **options)


@given(lines=st.lists(st.text('a"\\, b1', min_size=1, max_size=20), min_size=1, max_size=60), multi=st.booleans())
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_csv_of_any_letters(same, lines, multi):
    assert same("csv", WORDS, {"a.csv": "\n".join(lines)}, multiLine=multi) <= len(lines)


NUMBERS = """1|-1|+5|127|128|-129|32768|2147483648|9223372036854775807|9223372036854775808|0x10| 5|5 |1.5
1e3|.5|5.|1f|1d|NaN|Inf|-Inf|Infinity|-Infinity|inf||abc|00012|1_000|"1,234.5"|1e400|-0|0.1
123456789.987654321|1E-5|TRUE|true|False|yes|1L|+-1|\u0661|0.005|0.015|12345678.995|16777217""".replace(
    "\n", "|"
).split("|")


@pytest.mark.parametrize(
    "kind",
    [
        "byte",
        "short",
        "int",
        "long",
        "float",
        "double",
        "boolean",
        "decimal(10,2)",
        "decimal(38,10)",
        "string",
        "binary",
    ],
)
def test_csv_values(same, kind):
    assert same("csv", f"x {kind}, _corrupt_record string", {"a.csv": "\n".join(NUMBERS)})


TIMES = """2020-01-01|2020-1-1|2020-01-01 10:11:12|2020-01-01T10:11:12|2020-01-01T10:11:12.123456789Z
2020-01-01 10:11:12.1+01:00|2020-01-01 10:11:12 America/Los_Angeles|2020-03-08 02:30:00
2020-11-01 01:30:00|2020|2020-05|2020-05-06 07|2020-05-06 07:08|2020-05-06 7:8:9|2020-02-30
2020-13-01|12345-01-01|+12345-01-01|-0044-03-15|0000-01-01|99999-01-01 00:00:00|2020-01-01GMT
2020-01-01 10:11:12GMT+1|2020-01-01 10:11:12 PST|2020-01-01 10:11:12EST|2020-01-01 24:00:00
2020-01-01 10:60:00|2020-01-01|2020-01-01T|T|x|2020/01/01|20200101|1883-11-18 12:03:58
1700-01-01 00:00:00|2020-01-01 10:11:12+1|2020-01-01 10:11:12+0130|2020-01-01 10:11:12-18:01
2020-01-01 10:11:12UTC+3|2020-01-01 10:11:12.|2020-01-01 10:11:12.Z|2020-01-01 10:11:12 +01:00
1582-10-10|2020-01-01 10:11:12.1234567|202-01-01|2020-001-01|  2020-01-01  |2020-01-01 x""".replace("\n", "|").split(
    "|"
)


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("options", [{}, {"timeZone": "Asia/Tokyo"}], ids=str)
def test_dates_and_times(same, kind, options):
    schema = f"x {kind}, _corrupt_record string"
    assert same("csv", schema, {"a.csv": "\n".join(TIMES)}, **options) == len(TIMES)
    objects = [f'{{"x":"{text}"}}' for text in TIMES] + ['{"x":123}', '{"x":1.5}', '{"x":""}', '{"x":true}']
    assert same("json", schema, {"a.json": "\n".join(objects)}, **options) == len(TIMES) + 4


PATTERNS = {
    "yyyy-MM-dd": "2020-01-02|2020-1-2|20-01-02|+20200-01-01",
    "dd/MM/yy": "02/01/20|2/1/20|31/02/20",
    "yyyyMMdd": "20200102|2020012",
    "d MMM yyyy": "3 Jan 2020|03 jan 2020|3 January 2020",
    "yyyy[-MM[-dd]]": "2020|2020-02|2020-02-03",
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX": "2020-01-02T03:04:05.123Z|2020-01-02T03:04:05.1+02:00|2020-01-02T03:04:05.1234Z",
    "MM/dd/yyyy hh:mm a": "01/02/2020 03:04 PM|01/02/2020 12:04 am|01/02/2020 13:04 am",
    "yyyyMMddHHmmss": "20200102030405",
    "yyyy-MM-dd HH:mm:ssZ": "2020-01-02 03:04:05+0100|2020-01-02 03:04:05+01:00",
    "yyyy-MM-dd HH:mm:ss VV": "2020-01-02 03:04:05 Asia/Tokyo|2020-01-02 03:04:05 +01:00",
    "HH:mm": "03:04|24:00",
    "yyyy-MM-dd HH:mm a": "2020-01-02 13:04 PM|2020-01-02 13:04 AM",
}


def test_patterns_of_dates_and_times(same):
    for pattern, texts in PATTERNS.items():
        options = {"timestampFormat": pattern, "timestampNTZFormat": pattern}
        if "H" not in pattern and "h" not in pattern:
            assert same("csv", "x date, _corrupt_record string", {"a": texts.replace("|", "\n")}, dateFormat=pattern)
        objects = "\n".join(f'{{"t":"{text}","n":"{text}"}}' for text in texts.split("|"))
        assert same("json", "t timestamp, n timestamp_ntz, _corrupt_record string", {"a": objects}, **options)


def test_a_pattern_that_is_left_to_spark(tmp_path):
    with pytest.raises(UnsupportedPlan, match="date-time pattern 'DDD'"):
        Driver(source_of("csv", "x date", path=tmp_path, dateFormat="DDD"))


def test_csv_shapes_of_files(same):
    files = {
        "a.csv.gz": gzip.compress(b"1,a\n2,b"),
        "b.csv.bz2": bz2.compress(b"3,c\n"),
        "c.csv": "\ufeff4,d\r5,e\r\n\n   \n6,f",
        "_hidden.csv": "7,g",
        ".hidden": "8,h",
        "empty.csv": "",
    }
    assert same("csv", "a int, b string", files) == 6
    assert same("csv", "a int, b string", {"a": "a;b|1;x|2;y"}, header=True, sep=";", lineSep="|") == 2
    assert same("csv", "a int, b string", {"a": "a\tb\n1\tx\n"}, header=True, delimiter="\\t") == 1
    assert same("csv", "a int, _c string, b string", {"a": "1,x\nq,y\n1\n1,2,3"}, columnNameOfCorruptRecord="_c") == 4


RECORDS = r"""{"a":1,"b":"x"}
{"a":"1","b":"y"}
{"a":1.0,"b":2}
{"a":null,"b":null}
{}
[]
[{"a":1},{"b":2}]
[{"a":"q"},{"a":2}]
[1]
[null]
null
1
"s"
{"a":1
{"a":1}garbage
{'a':1,'b':'x\'y'}
{a:1}
{"a":01}
{"a":1,}
{"a":1,"a":2}
{"a":1,"a":null}
{"a":"x","a":2}
{"b":{"c": [1, 2.50 ,"x"]}}
{"b":[1,{"q":null}]}
{"b":true}
{"b":1.50}
{"b":-0}
{"b":1e5}
{"b":NaN}
{"b":"\u00e9\n\"/"}
{"b":"\ud83d\ude00"}
{"b":"\ud83d"}
{"b":"\x"}
{"A":1,"B":"x"}
   {"a":1}

// c
{"b":INF}
{"b":-INF}
{"b":+Infinity}
{"a":NaN}
{"a":2147483648}
{"a":true}
{"a":{"x":1},"b":"k"}
{"a":5,"b":tru}
{"b":1.}
{"b":12345678901234567890123}
{"a":1,"b":"x"]
{"a":[1,2],"b":"z"}
{"a":1,,"b":"x"}
[{"a":1},{"a":tru}]
[{"a":1},{"a":2}"""


@pytest.mark.parametrize("options", [{}, {"mode": "DROPMALFORMED"}], ids=str)
def test_json_records(same, options):
    assert same("json", "a int, b string, _corrupt_record string", {"a.json": RECORDS}, **options)
    assert same("json", "b string, a int", {"a.json": RECORDS}, **options)


VALUES = """1|-1|127|128|40000|9223372036854775808|1.5|1e3|1E400|-1e400|NaN|"NaN"|"+INF"|"INF"|"Infinity"
"-Infinity"|"1"|"1.5"|""|"x"|true|"true"|null|[1]|{"q":1}|123456789.987|1234567890123|0.005
0.015|"1,234.5"|"aGk="|"aGk"|"YQ=="|16777217|0.1"""


@pytest.mark.parametrize(
    "kind",
    [
        "byte",
        "short",
        "int",
        "long",
        "float",
        "double",
        "boolean",
        "decimal(10,2)",
        "decimal(38,10)",
        "string",
        "binary",
    ],
)
def test_json_values(same, kind):
    objects = "\n".join(f'{{"y":1,"x":{text}}}' for text in VALUES.replace("\n", "|").split("|"))
    assert same("json", f"x {kind}, y int, _corrupt_record string", {"a.json": objects})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcz"), inner, max_size=3),
    max_leaves=6,
)


@given(objects=st.lists(st.dictionaries(st.sampled_from("abcz"), JSON), min_size=1, max_size=40))
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_json_of_any_shape(same, objects):
    schema = "a long, b string, c double, _corrupt_record string"
    assert same("json", schema, {"a": "\n".join(map(json.dumps, objects))}) == len(objects)


def test_json_structs_and_documents(same):
    inner = T.StructType([T.StructField("p", T.IntegerType()), T.StructField("q", T.StringType())])
    struct = T.StructType([T.StructField("s", inner), T.StructField("_corrupt_record", T.StringType())])
    lines = ['{"s":{"p":1,"q":"x"}}', '{"s":{"p":"b","q":"x"}}', '{"s":null}', '{"s":5}', '{"s":{"q":{"u": 1}}}']
    assert same("json", struct, {"a": "\n".join(lines)}) == 5
    documents = {
        "a": '{"a":1,\n "b": {"x" : [1, 2.50]}}',
        "b": '[{"a":1},\n{"a":2,"b":1.50}]',
        "c": "nope",
        "d": " ",
        "e": '{"a":1}{"a":2}',
    }
    assert same("json", "a int, b string, _corrupt_record string", documents, multiLine=True) == 5
    assert same("json", "a int, b string, _corrupt_record string", {"a": '{"a":1}|{"a":2}|x'}, lineSep="|") == 3


def test_text(same):
    files = {"a": "a\nb\r\nc\rd\n\n\ufeff", "b": "\ufeffx\n", "c": "", "d": "\n", "e.gz": gzip.compress(b"z")}
    assert same("text", "value string", files) == 9
    assert same("text", "value string", {"a": "a\nb\r\n"}, wholetext=True) == 1
    assert same("text", "value string", {"a": "a|b||c|"}, lineSep="|") == 4


def test_columns_from_directories(same):
    files = {"k=1/a": "a\nb", "k=2/x/b": "c", "k=__HIVE_DEFAULT_PARTITION__/c": "d"}
    assert same("text", "value string, k int", files) == 4
    assert same("csv", "v int, d date, k string", {"d=2020-01-01/k=a%2Fb/a": "1", "d=2020-01-02/k= x/b": "2"}) == 2


def test_failfast_names_the_record(tmp_path):
    write(tmp_path, {"a.csv": "1,x\nq,y"})
    driver = Driver(source_of("csv", "a int, b string", path=tmp_path, mode="FAILFAST"))
    with pytest.raises(BadFile, match=r"a\.csv .*'q,y'"):
        driver.rows()


def test_a_file_that_is_not_compressed_as_its_name_says(tmp_path):
    write(tmp_path, {"a.csv.gz": "1,x"})
    with pytest.raises(BadFile, match=r"a\.csv\.gz is not compressed"):
        Driver(source_of("csv", "a int, b string", path=tmp_path)).rows()


@pytest.mark.parametrize(
    ("format", "options", "error", "words"),
    [
        ("csv", {"header": "maybe"}, InvalidOption, "header"),
        ("csv", {"mode": "LAX"}, InvalidOption, "PERMISSIVE"),
        ("csv", {"quote": "ab"}, InvalidOption, "quote"),
        ("csv", {"headr": "true"}, InvalidOption, "did you mean header"),
        ("csv", {"enforceSchema": "false"}, UnsupportedPlan, "enforceschema"),
        ("csv", {"encoding": "UTF-16"}, UnsupportedPlan, "encoding"),
        ("csv", {"sep": "||"}, UnsupportedPlan, "sep"),
        ("json", {"allowComments": "true"}, UnsupportedPlan, "allowComments"),
        ("json", {"fs.s3a.access.key": "k"}, UnsupportedPlan, "fs.s3a.access.key"),
        ("text", {"ignoreCorruptFiles": "true"}, UnsupportedPlan, "ignorecorruptfiles"),
    ],
)
def test_options_that_cannot_be(tmp_path, format, options, error, words):
    with pytest.raises(error, match=words):
        Driver(source_of(format, "value string", path=tmp_path, **options))

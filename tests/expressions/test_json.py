"""JSON text: read by a schema, written, looked into; CSV text likewise."""

from datetime import datetime
from decimal import Decimal

from oracle import check
from pyspark.sql import SparkSession

TEXTS = [
    '{"a": 1, "b": [1, 2, null], "c": {"d": "x"}}',
    '{"a": "no", "b": [1, "x"], "c": {"d": 5}}',
    '{"b": [], "c": null, "a": 2.5}',
    '{"a": {"k": [1, {"z": true}]}, "b": "text", "c": {"d": {"e": 1}}}',
    '[{"a": 1}, {"a": 2}]',
    '[1, 2.50, null, "x", 1e3]',
    '{"a": "\\u00e9\\n\\"", "x y": 3, "b": [[1, 2], [3]]}',
    "{'a': 3, 'b': [4]}",
    '{"a": 1, "a": 2}',
    *("", "   ", "null", "12", "{", '{"a":', "not json", '"text"', "[]", "{}", "true"),
    None,
]
SCHEMA = "s string"
READING = [
    "from_json(s, 'a int, b array<int>, c struct<d: string>')",
    "from_json(s, 'a string, b string, c string')",
    "from_json(s, 'a double, c map<string, string>')",
    "from_json(s, 'b array<array<int>>, a struct<k: array<string>>')",
    "from_json(s, 'array<struct<a: int>>')",
    "from_json(s, 'array<string>')",
    "from_json(s, 'map<string, string>')",
    "from_json(s, 'a int, _corrupt_record string')",
    "from_json(s, 'a int, bad string', map('columnNameOfCorruptRecord', 'bad'))",
    "from_json(s, 'a int').a + 1",
    "from_json(s, 'a decimal(5,1), b array<double>')",
]
LOOKING = [
    *(f"get_json_object(s, '{path}')" for path in ("$", "$.a", "$.b", "$.b[1]", "$.c.d", "$[0]", "$[0].a", "$[*].a")),
    *(
        f"get_json_object(s, '{path}')"
        for path in ("$.b[*]", "$.a.k[1].z", "$[\\'x y\\']", "$.x y", "a", "$.b[9]", "$[1]")
    ),
    *("json_array_length(s)", "json_object_keys(s)"),
]


def test_reading(spark: SparkSession) -> None:
    check(spark, READING + LOOKING, [(text,) for text in TEXTS], SCHEMA)


def test_reading_whole_columns(spark: SparkSession) -> None:
    """Texts that all fit are read by Arrow; one that does not has all of them read row by row."""
    fit = [
        f'{{"a": {n}, "b": [{n}, null], "c": {{"d": "x{n}\\u00e9\\n"}}, "t": "2024-03-10T0{n % 9}:30:00", "z": 1}}'
        for n in range(12)
    ]
    fit += [
        '{"a": null}',
        "{}",
        '{"c": {}, "b": []}',
        '{"c": null, "e": 7, "f": true}',
        ' {"e": -0.0, "t": null}  ',
        None,
    ]
    schema = "a int, b array<bigint>, c struct<d: string>, t timestamp, e double, f boolean, g date"
    for odd in (
        [],
        ['{"a": 1, "a": 2}'],
        ['{"a": 1} {"a": 2}'],
        ['{"a": 3000000000}'],
        ['{"t": "x", "a": 4}'],
        ['{"c": {"d": 1}}', ""],
    ):
        check(spark, [f"from_json(s, '{schema}')"], [(text,) for text in [*fit, *odd]], SCHEMA)


def test_what_fails(spark: SparkSession) -> None:
    check(spark, ["from_json(s, 'a int', map('mode', 'FAILFAST'))"], [("{",)], SCHEMA)


def test_times(spark: SparkSession) -> None:
    texts = ['{"t": "2024-03-10T02:30:00", "d": "2024-02-30"}', '{"t": "10/03/2024", "d": "2024-02-29"}', '{"t": 5}']
    exprs = [
        "from_json(s, 't timestamp, d date')",
        "from_json(s, 't timestamp', map('timestampFormat', 'dd/MM/yyyy'))",
        "from_json(s, 't timestamp_ntz, d string', map('timeZone', 'Asia/Tokyo'))",
    ]
    check(spark, exprs, [(text,) for text in texts], SCHEMA)


def test_writing(spark: SparkSession) -> None:
    rows = [
        (
            1,
            [1, None],
            [("k", 1.5)],
            {"x": None, "y": [{"z": "q"}]},
            Decimal("1.50"),
            datetime(2024, 7, 1, 3),
            b"\x00\xff",
        ),
        (None, None, None, None, None, None, None),
        (-5, [], [], {"x": 'a"\n\u00e9/', "y": [None]}, Decimal("0.00"), datetime(1970, 1, 1), b""),
        (7, [3], [("", None), ("b", float("nan"))], {"x": "", "y": []}, Decimal("-7.25"), datetime(2024, 1, 1), b"abc"),
    ]
    exprs = [
        *(
            "to_json(struct(*))",
            "to_json(p)",
            "to_json(m)",
            "to_json(array(p, p))",
            "to_json(a)",
            "to_json(struct(i, m))",
        ),
        *("to_json(p, map('ignoreNullFields', 'false'))", "to_json(named_struct('d', date(t), 'e', i / 3))"),
        *(
            "from_json(to_json(p), 'x string, y array<struct<z: string>>')",
            "to_json(struct(t), map('timeZone', 'UTC'))",
        ),
        *("to_json(map(i is null, i))", "to_json(map(date'2024-01-01', 1))"),
    ]
    schema = "i int, a array<int>, m map<string, double>, p struct<x: string, y: array<struct<z: string>>>, "
    check(spark, exprs, rows, schema + "n decimal(5,2), t timestamp, b binary")


def test_csv(spark: SparkSession) -> None:
    rows = [
        ("1,abc,2.5", 1, "a,b", 1.5, datetime(2024, 7, 1, 3)),
        ("x,,", -1, "", float("nan"), datetime(1970, 1, 1)),
        ('7,"q ""w"", e",1e3', 0, 'say "hi"', None, None),
        ("1", None, None, -0.0, datetime(2024, 1, 1)),
        ("1,2,3,4", 5, " pad ", 1e10, datetime(2024, 3, 10, 7)),
        *(("", 1, "x", 1.0, None), (None, 2, "#c", 2.0, None), (" 5 , b ,3", 3, "l\nm", 3.0, None)),
    ]
    exprs = [
        *(
            "from_csv(s, 'a int, b string, c double')",
            "from_csv(s, 'a string, b string')",
            "from_csv(s, 'a int').a + 1",
        ),
        *("from_csv(s, 'a string, b string', map('sep', '2'))", "to_csv(struct(i, t, d))", "to_csv(struct(t, u))"),
        *("to_csv(struct(i, t), map('sep', '|', 'nullValue', 'N'))", "from_csv(s, 'a int, _corrupt_record string')"),
    ]
    check(spark, exprs, rows, "s string, i int, t string, d double, u timestamp")

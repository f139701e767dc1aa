"""Arrays: made, looked into, cut, searched, sorted, compared as sets."""

from datetime import date, datetime

from edges import INF, NAN
from oracle import check
from pyspark.sql import SparkSession

SCHEMA = (
    "a array<int>, b array<int>, s array<string>, d array<double>, n array<array<int>>, "
    "p array<struct<x: int, y: string>>, i int, t string, m map<string, int>, w array<date>"
)
DAYS = [date(2024, 2, 29), None, date(1969, 12, 31)]
ROWS = [
    ([3, 1, 2], [1, 5], ["b", "a"], [NAN, 1.0, -0.0], [[1], [2, 3]], [{"x": 1, "y": "u"}], 1, "a", [("a", 1)], DAYS),
    ([1, None, 1], [None, 2], ["x", None], [0.0, -0.0, None], [[1], None], [None, {"x": 2, "y": None}], 2, "x", [], []),
    ([], [], [], [], [], [], -1, "", [("", None), ("a", 2)], [None]),
    (None, [1], None, None, None, None, 3, None, None, None),
    ([7], None, [None], [INF, NAN, NAN], [[], [None]], [{"x": None, "y": "z"}] * 2, None, "z", [("z", 3)], DAYS * 2),
    ([2, 2, 3, None, None], [2, None, 9], ["", "a", "b", "a"], [1.0], [None], [None], -2, "b", [("b", 0)], DAYS[:1]),
]
LOOKUPS = [
    *("get(a, 0)", "get(a, i)", "get(s, 1)", "try_element_at(a, -1)", "try_element_at(n, 2)", "try_element_at(m, t)"),
    *("m['a']", "m[t]", "element_at(m, 'b')", "p.x", "p.y", "get(p, 0).y", "get(n, 0)", "try_element_at(w, -1)"),
    *("size(a)", "size(m)", "cardinality(n)", "array_size(s)", "map_contains_key(m, 'a')", "map_contains_key(m, t)"),
    *("array_contains(a, 1)", "array_contains(a, i)", "array_contains(d, double('NaN'))", "array_contains(s, t)"),
    *("array_contains(n, array(1))", "array_position(a, 1)", "array_position(s, t)", "array_position(d, 0D)"),
    *("array_min(a)", "array_max(a)", "array_min(d)", "array_max(d)", "array_max(s)", "array_min(p)", "array_max(w)"),
]
MAKERS = [
    *("array(i, 1, null)", "array(t, 'x')", "array(a, b)", "array(struct(i, t))", "array(map(t, i))[0] is null"),
    *(
        "array(1, 2, 3)",
        "array('x', null)",
        "array(array(1.5, 2.25), null)",
        "named_struct('q', array(date'2024-01-01'))",
    ),
    *("concat(a, b)", "concat(a, array(9), b)", "flatten(n)", "reverse(a)", "reverse(p)", "slice(a, 2, 2)"),
    *(
        "slice(a, -2, 1)",
        "slice(s, 1, 0)",
        "slice(a, -9, 2)",
        "array_repeat(i, 3)",
        "array_repeat(a, 2)",
        "array_repeat(t, i)",
    ),
    *(
        "arrays_zip(a, b)",
        "arrays_zip(a, s, d)",
        "array_insert(a, 2, 9)",
        "array_insert(a, 5, i)",
        "array_insert(a, -1, 9)",
    ),
    *(
        "array_insert(a, -5, 9)",
        "array_append(s, t)",
        "array_prepend(a, i)",
        "array_remove(a, 1)",
        "array_remove(s, t)",
    ),
    *(
        "array_compact(a)",
        "array_join(s, '-')",
        "array_join(s, '-', 'N')",
        "array_join(s, t)",
        "array_join(array(), ',')",
    ),
    *("array_join(s, '-', t)", "array_remove(d, 0D)"),
]
SETS = [
    *(
        "sort_array(a)",
        "sort_array(a, false)",
        "sort_array(d)",
        "sort_array(d, false)",
        "sort_array(p)",
        "sort_array(n)",
    ),
    *("array_sort(a)", "array_sort(d)", "array_sort(s)", "array_sort(n)"),
    *("array_distinct(a)", "array_distinct(s)", "array_distinct(d)", "array_distinct(n)", "array_distinct(p)"),
    *(
        "array_union(a, b)",
        "array_intersect(a, b)",
        "array_except(a, b)",
        "arrays_overlap(a, b)",
        "arrays_overlap(s, s)",
    ),
    *("array_union(d, d)", "array_intersect(d, array(0D, double('NaN')))", "array_except(d, array(-0D))"),
    *("a = b", "a <=> b", "a < b", "n >= n", "p = p", "a = array(7)", "p < array(struct(1, 'u'))", "greatest(a, b)"),
    *(
        "least(a, b)",
        "a in (array(7), array(1))",
        "struct(a, t) < struct(b, t)",
        "get(p, 0) < get(p, 1)",
        "n = array(a)",
    ),
    *(
        "if(i > 1, a, b)",
        "coalesce(a, b)",
        "case when i = 1 then a when i = 2 then b end",
        "a is null",
        "nvl(s, array(t))",
    ),
]


def test_lookups(spark: SparkSession) -> None:
    check(spark, LOOKUPS + MAKERS + SETS, ROWS, SCHEMA)


def test_places_that_are_not_there(spark: SparkSession) -> None:
    exprs = ["a[5]", "a[-1]", "element_at(a, 9)", "try_element_at(a, 0)", "slice(a, 0, 1)", "slice(a, 1, -1)"]
    exprs += ["array_insert(a, 0, 1)", "a[0]", "element_at(a, -1)", "element_at(a, 1)"]
    check(spark, exprs, [([1, 2],), (None,)], "a array<int>")
    check(spark, ["a[5]", "a[-1]", "a[0]", "element_at(a, 9)"], [([1, 2],), (None,)], "a array<int>", ansi=False)


def test_sequences(spark: SparkSession) -> None:
    rows = [
        (1, 5, 2, date(2024, 1, 30), date(2024, 4, 1), datetime(2024, 3, 9, 12), datetime(2024, 3, 11, 12)),
        (5, 1, -3, date(2024, 3, 1), date(2024, 3, 1), datetime(2024, 11, 2, 12), datetime(2024, 11, 4, 12)),
        (None, 1, 1, None, None, None, None),
        (3, 3, 1, date(2023, 12, 31), date(2024, 12, 31), datetime(2024, 1, 1), datetime(2024, 1, 1)),
    ]
    exprs = [
        *("sequence(a, b)", "sequence(a, b, c)", "sequence(1, 3)", "sequence(bigint(a), bigint(b))", "sequence(x, y)"),
        *("sequence(x, y, interval 1 month)", "sequence(x, y, interval 10 days)", "sequence(u, v, interval 6 hours)"),
        *("sequence(u, v, interval 1 day)", "sequence(u, v)", "sequence(y, x, interval -1 month)"),
        *("sequence(cast(u as timestamp_ntz), cast(v as timestamp_ntz), interval 12 hours)",),
    ]
    schema = "a int, b int, c int, x date, y date, u timestamp, v timestamp"
    check(spark, exprs, rows, schema)
    check(spark, ["sequence(a, b, 0)", "sequence(a, b, 1)"], rows, schema)

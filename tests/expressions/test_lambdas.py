"""Higher-order functions, and maps."""

from oracle import check
from pyspark.sql import SparkSession

SCHEMA = (
    "a array<int>, b array<int>, m map<string, int>, q map<string, int>, n array<array<int>>, i int, s array<string>"
)
ROWS = [
    ([3, 1, 2], [1, 5], [("a", 1), ("b", 2)], [("b", 7), ("c", 8)], [[1], [2, 3]], 2, ["b", "aa"]),
    ([1, None, 4], [None], [("x", None)], [], [[None], None], 0, [None, ""]),
    ([], [], [], [("a", None)], [], None, []),
    (None, [1], None, [("a", 1)], None, 1, None),
    ([5, 5, -1], None, [("c", 3), ("a", 4), ("b", -1)], None, [[], [1, 1]], -1, ["c", "c", "a"]),
]
ARRAYS = [
    *(
        "transform(a, x -> x + i)",
        "transform(a, (x, k) -> x * 10 + k)",
        "transform(n, x -> transform(x, y -> y + size(x) + i))",
    ),
    *(
        "filter(a, x -> x > 1)",
        "filter(a, (x, k) -> k > 0)",
        "filter(n, x -> exists(x, y -> y = i))",
        "filter(s, x -> x like 'a%')",
    ),
    *("exists(a, x -> x > 3)", "exists(a, x -> x is null)", "forall(a, x -> x > 0)", "forall(a, x -> x < 0)"),
    *(
        "aggregate(a, 0, (t, x) -> t + x)",
        "aggregate(a, 0, (t, x) -> t + coalesce(x, i), t -> t * 2)",
        "reduce(s, '', (t, x) -> t || x)",
    ),
    *(
        "aggregate(a, array(0), (t, x) -> concat(t, array(x)))",
        "aggregate(a, named_struct('c', 0, 'n', 0), (t, x) -> named_struct('c', t.c + 1, 'n', t.n + x)).n",
    ),
    *(
        "zip_with(a, b, (x, y) -> x + y)",
        "zip_with(a, s, (x, y) -> struct(x, y))",
        "array_sort(a, (x, y) -> case when x < y then 1 when x > y then -1 else 0 end)",
    ),
    *(
        "array_sort(s, (x, y) -> length(coalesce(x, '')) - length(coalesce(y, '')))",
        "transform(a, x -> a[0] + x)",
        "transform(a, x -> case when x != 0 then 6 div x end)",
    ),
    *("transform(map_entries(m), e -> e.value + i)", "array_contains(transform(a, x -> x * 2), 6)"),
]
MAPS = [
    *(
        "map_keys(m)",
        "map_values(m)",
        "map_entries(m)",
        "map('k', i, 'j', 1)",
        "map(i, array(i))[2]",
        "map('a', 1, 'b', null)",
    ),
    *(
        "map_filter(m, (k, v) -> v > 1)",
        "transform_values(m, (k, v) -> v + i)",
        "transform_keys(m, (k, v) -> k || '!')",
        "map_filter(m, (k, v) -> k > 'a')",
    ),
    *(
        "map_zip_with(m, q, (k, x, y) -> concat_ws('/', k, x, y))",
        "map_from_arrays(array('a', 'b'), array(i, 1))",
        "map_from_entries(array(struct(i is null, 2)))",
    ),
    *("map_concat(m, map('zz', i))", "map_concat(m)", "map_from_entries(map_entries(m))", "str_to_map('a:1,b:2,c')"),
    *(
        "element_at(m, 'a')",
        "m['b']",
        "size(m)",
        "map_from_arrays(map_keys(m), map_values(m)) is null",
        "if(i > 0, m, q)",
        "coalesce(m, q)",
    ),
    *("map(1.5D, 2)[1.5D]", "map(array(1), 'x')[array(1)]", "map(i is null, 1)[true]"),
]


def test_lambdas(spark: SparkSession) -> None:
    check(spark, ARRAYS, ROWS, SCHEMA)


def test_maps(spark: SparkSession) -> None:
    check(spark, MAPS, ROWS, SCHEMA)


def test_what_fails(spark: SparkSession) -> None:
    exprs = [
        "transform(a, x -> 1 div x)",
        "map(i, 1, i, 2)",
        "map(i, 1)",
        "map_from_arrays(a, b)",
        "transform_keys(m, (k, v) -> 1)",
    ]
    exprs += [
        "map_concat(m, m)",
        "array_sort(a, (x, y) -> cast(null as int))",
        "aggregate(a, 2147483647, (t, x) -> t + x + 1)",
    ]
    check(
        spark,
        exprs,
        [([0, 1], [1], [("a", 1), ("b", 2)], None)],
        "a array<int>, b array<int>, m map<string, int>, i int",
    )

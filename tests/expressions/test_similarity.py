"""How alike texts and vectors are."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import check
from pyspark.sql import SparkSession

from headway.kernels.expressions.similarity import similarity

TEXTS = ["MARTHA", "MARHTA", "", "a", "DIXON", "DICKSONX", "jellyfish", "smellyfish", "\U0001f600\U0001f601x", "aab"]
VECTORS = [
    [],
    [1.0],
    [0.0, 0.0],
    [1.0, -2.5],
    [3.4e38, 3.4e38],
    [1e-30, 2.0],
    [float("nan"), 1.0],
    [float("inf"), -1.0],
    [None, 1.0],
    [0.1 * n for n in range(19)],
    [(-1.7) ** n for n in range(19)],
    None,
]
ONE = ["vector_norm(a)", "vector_norm(a, 1.0f)", "vector_norm(a, float('inf'))", "vector_normalize(a)"]
ONE += ["vector_normalize(a, 1.0f)", "vector_normalize(a, float('inf'))"]
TWO = ["vector_cosine_similarity(a, b)", "vector_inner_product(a, b)", "vector_l2_distance(a, b)"]
SCHEMA = "a array<float>, b array<float>"


def test_texts(spark: SparkSession) -> None:
    pairs = [(one, other) for one in [*TEXTS, None] for other in [*TEXTS, None]]
    check(spark, ["jaro_winkler_similarity(a, b)"], pairs, "a string, b string")


def test_bytes_of_base32(spark: SparkSession) -> None:
    texts = [
        "",
        "ME",
        "MFRA",
        "MFRA====",
        "mfra",
        "MFRGG",
        "M",
        "MF!RG-G",
        "MF1RA",
        "MFRA==AA",
        "77777777",
        "77777777M",
        None,
    ]
    check(spark, ["from_base32(a)", "to_base32(from_base32(a))"], [(text,) for text in texts], "a string")


def test_vectors(spark: SparkSession) -> None:
    pairs = [(a, b) for a in VECTORS for b in VECTORS if a is None or b is None or len(a) == len(b)]
    check(spark, [*ONE, *TWO], pairs, SCHEMA)


def test_vectors_that_do_not_fit(spark: SparkSession) -> None:
    check(spark, [*TWO, "vector_norm(a, 3.0f)", "vector_normalize(a, 0.5f)"], [([1.0], [1.0, 2.0])], SCHEMA)


floats = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6)


@given(st.lists(st.tuples(floats, floats), max_size=40).map(lambda pairs: tuple(map(list, zip(*pairs, strict=True)))))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_vectors(spark: SparkSession, pair: tuple[list[float], ...]) -> None:
    check(spark, [*ONE, *TWO], [pair or ([], [])], SCHEMA)


@given(st.text("abcé", max_size=8), st.text("abcé", max_size=8))
def test_alike_is_between_0_and_1(one: str, other: str) -> None:
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, one) == 1

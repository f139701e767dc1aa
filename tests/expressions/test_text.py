"""Text cut, formatted, masked and checked; addresses; and functions that fail or do not."""

from decimal import Decimal

from oracle import check
from pyspark.sql import SparkSession

SCHEMA = "s string, t string, i int, d double, n decimal(10,2), b binary, l bigint"
ROWS = [
    ("a,b,,c", ",", 2, 1.005, Decimal("1.50"), b"ab", 65537),
    ("", "", 1, -0.0, Decimal("0.00"), b"", 0),
    ("oneAtwoBthreeC", "A", -1, 1234567.891, Decimal("-12.34"), b"\xff\x00", -1),
    ("Abc-123 \u00e9\u00c9", "x", 3, float("nan"), Decimal("99999999.99"), b"k", 32768),
    ("4111111111111111", "1", 1, float("inf"), Decimal("5.00"), b"1", 1),
    ("79927398713", "7", 2, 1e-7, None, b"xyz", None),
    (None, None, None, None, None, None, -40000),
    ('it\'s \\ "q"', "'", 1, 0.5, Decimal("7.77"), b"\x01", 2**40),
    ("a b+c%20~*-._", "%", 2, 2.5, Decimal("1.00"), b"q", 7),
]
TEXT = [
    *(
        "split(s, ',')",
        "split(s, ',', 2)",
        "split(s, '[ABC]')",
        "split(s, '')",
        "split(s, '', 3)",
        "split(s, ',', -1)",
        "split(s, '1*')",
    ),
    *(
        "split_part(s, ',', 2)",
        "split_part(s, ',', -1)",
        "split_part(s, t, 1)",
        "split_part(s, '', 1)",
        "split_part(s, 'aa', 2)",
        "split(s, '(?=[A-Z])')",
        "split(s, '\\\\s+', i)",
    ),
    *(
        "regexp_extract_all(s, '([a-z])([A-Z])', 2)",
        "regexp_extract_all(s, '\\\\d', 0)",
        "regexp_count(s, '[a-z]+')",
        "regexp_instr(s, '[A-Z]')",
    ),
    *(
        "regexp_substr(s, '[0-9]+')",
        "mask(s)",
        "mask(s, 'Q', 'q', 'd', 'o')",
        "mask(s, NULL, 'x')",
        "quote(s)",
        "luhn_check(s)",
    ),
    *(
        "format_string('%s|%5d|%-5s|%05d', s, i, t, i)",
        "format_string('%.2f %e %,.1f', d, d, d)",
        "format_string('%x %X %c', l, i, 65)",
    ),
    *(
        "format_string('%2$s %1$s %%', s, d)",
        "printf('%b %s %s', i > 1, n, i > 1)",
        "format_string('%+d % d', i, l)",
        "format_string('%.3s', s)",
    ),
    *(
        "elt(1, s, t)",
        "elt(2, s, 'x')",
        "concat_ws('-', array(s, t), t)",
        "concat_ws('/', split(s, ','))",
        "array_join(split(s, ','), '+')",
    ),
    *(
        "url_encode(s)",
        "try_url_decode(s)",
        "try_url_decode(url_encode(s))",
        "hmac(b, cast(s as binary), 'SHA-256')",
        "to_base32(b)",
        "lpad(b, 4, X'20')",
    ),
    *(
        "rpad(b, 3, X'0102')",
        "bitmap_bit_position(l)",
        "bitmap_bucket_number(l)",
        "bitmap_count(b)",
        "is_valid_utf8(s)",
        "make_valid_utf8(s)",
    ),
    *(
        "try_validate_utf8(s)",
        "validate_utf8(s)",
        "str_to_map(s, ',', 'b')",
        "width_bucket(d, 0, 10, 5)",
        "width_bucket(d, 5, -5, i)",
    ),
    *(
        "width_bucket(1.5, 0, 3, l)",
        "typeof(array(i))",
        "try_add(i, 2147483647)",
        "try_to_binary(s, 'hex')",
        "e() * 0 + pi()",
        "levenshtein(s, t)",
    ),
    *("try_divide(i, 0)", "try_multiply(l, 9223372036854775807)", "try_mod(i, 0)", "try_subtract(i, -2147483647)"),
]
ADDRESSES = [
    *(
        "http://user:pw@example.com:8080/a/b?x=1&y=2#frag",
        "https://example.com",
        "mailto:a@b.c",
        "/only/path?q",
        "http://",
    ),
    *(
        "http://exa mple.com",
        "http://[::1]:80/x",
        "http://a_b.com/p",
        "ftp://h/%zz",
        "http://h?k=v&k2=v2",
        "x",
        "",
        None,
    ),
    *("http://h/p?a=%20b&a=c", "//host/p", "http://h:99x/p", "http://1.2.3.4/q#r"),
]
PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "NOPE")


def test_text(spark: SparkSession) -> None:
    check(spark, TEXT, ROWS, SCHEMA)


def test_addresses(spark: SparkSession) -> None:
    exprs = [f"try_parse_url(s, '{part}')" for part in PARTS]
    exprs += ["try_parse_url(s, 'QUERY', 'k')", "try_parse_url(s, 'QUERY', 'a')", "try_parse_url(s, 'HOST', 'a')"]
    check(spark, exprs, [(url,) for url in ADDRESSES], "s string")


def test_what_fails(spark: SparkSession) -> None:
    exprs = [
        "parse_url(s, 'HOST')",
        "url_decode(s)",
        "raise_error(s)",
        "assert_true(i > 1)",
        "elt(i, s, s)",
        "assert_true(i < 9)",
    ]
    exprs += [
        "format_string('%d', s)",
        "if(i > 5, raise_error('no'), i)",
        "split_part(s, ',', 0)",
        "element_at(split(s, ','), 5)",
    ]
    check(spark, exprs, [("a b%", 0)], "s string, i int")

"""Our matcher of regular expressions finds what Python's finds, or says that it does not know."""

import random
import re

import pyarrow as pa
import pytest

from headway.kernels.matcher import program
from headway.kernels.texts import parts, texts_of

PATTERNS = [
    *("a(b|c)*d", "(a|ab)(c|bcd)(d*)", "x*", "a+?b", "a{2,3}", "(a{2,3})b", "(ab){1,2}", "(ab)*?c", "[^a]b", "^a|b"),
    *("(a*)(b*)(c*)d", r"\d+(\w)?", "(a|b|cd)+", "a*ab", r"(?:ab|a)b*\Z", "(b)?a", "((a)|b)*c", "(a?)b", "(ab?){2}"),
    *("[a-c]{2}d?", "(a|b)*?d", r"(b|^)a([^b]*)", r"[^\d]\D", "(ab){0,2}?1", "(a|(b))(c|d)?", "()a"),
]


def found(pattern: str, texts: list[str | None], group: int) -> list[str | None] | None:
    column = pa.array(texts, pa.string())
    known = program(pattern)
    assert known is not None
    places = known.find(texts_of(column), group)
    return None if places is None else parts(column, texts_of(column), *places).to_pylist()


def expected(pattern: str, text: str | None, group: int) -> str | None:
    if text is None:
        return None
    match = re.search(pattern, text, re.ASCII)
    return "" if match is None else match[group] or ""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_finds_what_python_finds(pattern: str) -> None:
    drawn = random.Random(7)
    texts = [None, "", *("".join(drawn.choices("abcd1", k=drawn.randrange(10))) for _ in range(400))]
    for group in range(re.compile(pattern).groups + 1):
        assert found(pattern, texts, group) == [expected(pattern, text, group) for text in texts]


@pytest.mark.parametrize("pattern", ["(a*)*", r"(a)\1", "(?=a)b", "(?i)a", "é", "a$", r"\ba", "(ab){20}"])
def test_knows_what_it_does_not_know(pattern: str) -> None:
    assert program(pattern) is None


def test_gives_up_rather_than_take_long() -> None:
    assert found("(a|a)*b", ["a" * 60], 0) is None
    assert found("(a|b)*c", ["ab" * 400 + "c"], 0) is None


def test_says_nothing_of_other_letters() -> None:
    assert found("(a)[^b]", ["aé"], 1) is None


def test_slices_of_columns() -> None:
    column = pa.array(["xa1", "a22", None, "ba3"]).slice(1)
    known = program("a(.*)".replace(".", "[^x]"))
    assert known is not None
    places = known.find(texts_of(column), 1)
    assert places is not None
    assert parts(column, texts_of(column), *places).to_pylist() == ["22", None, "3"]

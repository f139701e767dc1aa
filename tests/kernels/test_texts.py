"""Parts of texts between separators."""

import numpy as np
import pyarrow as pa
import pytest

from headway.kernels.texts import find_part, parts, separators, texts_of

TEXTS = ["a/b/c", None, "", "/", "//", "no separator", "é/ü//", "a" * 30 + "/" + "b" * 30, "ab/abab/", "end"]


def split(column: pa.Array, separator: str, number: int) -> list[str | None]:
    texts = texts_of(column)
    found = separators(texts, np.frombuffer(separator.encode(), np.uint8))
    starts, ends = np.empty((2, len(column)), np.int32)
    find_part(texts.offsets, *found, len(separator.encode()), number, starts, ends)
    made = parts(column, texts, starts, ends)
    made.validate(full=True)
    values: list[str | None] = made.to_pylist()
    return values


def expected(text: str | None, separator: str, number: int) -> str | None:
    if text is None:
        return None
    pieces = text.split(separator)
    return pieces[number - (number > 0)] if abs(number) <= len(pieces) else ""


@pytest.mark.parametrize("separator", ["/", "//", "ab", "é", "x"])
@pytest.mark.parametrize("number", [1, 2, 3, 4, -1, -2, -4])
def test_parts_are_pythons(separator: str, number: int) -> None:
    for column in (pa.array(TEXTS), pa.array(["before", *TEXTS, "after"]).slice(1, len(TEXTS))):
        assert split(column, separator, number) == [expected(text, separator, number) for text in TEXTS]


def test_no_texts() -> None:
    assert split(pa.array([], pa.string()), "/", 1) == []
    assert split(pa.nulls(3, pa.string()), "/", 1) == [None] * 3

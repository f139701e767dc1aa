"""Columns of text as machine code sees them: bytes, and where each row's begin and end.

1. Parts of texts become columns again with `parts`: eight bytes at a time, which may be more than a part has, for the
   next one is written over them.
2. Cutting at a separator finds all separators once, however many of the parts are asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headway.errors import HeadwayError

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
READ_BYTES = numba.types.Array(numba.uint8, 1, "C", readonly=True)
READ_INTS = numba.types.Array(numba.int32, 1, "C", readonly=True)
"""Of Arrow's memory, which is not written to."""
INTS = numba.int32[::1]
_WORD = 8
_READ_WORDS = numba.types.Array(numba.uint64, 1, "A", readonly=True, aligned=False)
_WORDS = numba.types.Array(numba.uint64, 1, "A", aligned=False)
_MOST = np.iinfo(np.int32).max


class Texts(NamedTuple):
    """Row i is data[offsets[i] : offsets[i + 1]]; of a null row that means nothing."""

    data: Bytes
    offsets: Ints

    @property
    def ascii(self) -> bool:
        """Whether every character is one byte."""
        return not (self.data[self.offsets[0] : self.offsets[-1]] & 0x80).any()


def texts_of(array: pa.Array) -> Texts:
    """A column of strings; none of it is copied."""
    if not len(array):
        return Texts(np.zeros(0, np.uint8), np.zeros(1, np.int32))
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return Texts(np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), places)


def parts(array: pa.Array, texts: Texts, starts: Ints, ends: Ints) -> pa.Array:
    """The bytes from `starts` to `ends` of every row's text, null where `array`, whose texts they are, is."""
    sizes = np.cumsum(ends - starts, dtype=np.int64)
    total = int(sizes[-1]) if len(sizes) else 0
    if total > _MOST:
        raise HeadwayError("the parts of one batch's texts take more than 2 GiB")
    offsets = np.zeros(len(starts) + 1, np.int32)
    offsets[1:] = sizes
    copied = np.empty(total + _WORD, np.uint8)
    _copy(texts.data, _words(texts.data), starts, offsets, copied, _words(copied))
    valid = pa.array(np.asarray(array.is_valid())).buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(array.type, len(starts), [valid, pa.py_buffer(offsets), pa.py_buffer(copied)])


def _words(data: Bytes) -> npt.NDArray[np.uint64]:
    """The eight bytes that begin at each place."""
    return np.ndarray((max(0, len(data) - _WORD + 1),), np.uint64, data, strides=(1,))


@numba.njit(  # type: ignore[untyped-decorator]
    numba.void(READ_BYTES, _READ_WORDS, INTS, INTS, numba.uint8[::1], _WORDS), nogil=True, cache=True
)
def _copy(data: Any, words: Any, starts: Any, offsets: Any, copied: Any, copied_words: Any) -> None:
    for row in range(len(starts)):
        begin, to, end = starts[row], offsets[row], offsets[row + 1]
        while to < end:
            if begin < len(words):
                copied_words[to] = words[begin]
            else:
                for place in range(end - to):
                    copied[to + place] = data[begin + place]
                break
            begin += _WORD
            to += _WORD


def separators(texts: Texts, separator: Bytes) -> tuple[Ints, Ints]:
    """Where the separators are in every text, from its start: the offsets of one list per row, and the places."""
    begin = texts.offsets[0]
    # Whole bytes of memory are compared at once; what is left to look at are a few places.
    candidates = np.flatnonzero(texts.data[begin : texts.offsets[-1]] == separator[0])
    candidates += begin
    places = np.empty(len(candidates), np.int32)
    offsets = np.zeros(len(texts.offsets), np.int32)
    _find(texts.data, texts.offsets, separator, candidates, offsets, places)
    return offsets, places[: offsets[-1]]


@numba.njit(  # type: ignore[untyped-decorator]
    numba.void(READ_BYTES, READ_INTS, READ_BYTES, numba.int64[::1], INTS, INTS), nogil=True, cache=True
)
def _find(data: Any, offsets: Any, separator: Any, candidates: Any, found: Any, places: Any) -> None:
    size, at, count = len(separator), 0, 0
    for row in range(len(offsets) - 1):
        begin, last = offsets[row], offsets[row + 1] - size
        free = begin
        while at < len(candidates) and candidates[at] < offsets[row + 1]:
            begins = candidates[at]
            same = free <= begins <= last
            for place in range(1, size):
                same = same and data[begins + place] == separator[place]
            if same:
                places[count] = begins - begin
                count += 1
                free = begins + size
            at += 1
        found[row + 1] = count


@numba.njit(  # type: ignore[untyped-decorator]
    numba.void(READ_INTS, READ_INTS, READ_INTS, numba.int64, numba.int64, INTS, INTS), nogil=True, cache=True
)
def find_part(offsets: Any, found: Any, places: Any, size: int, number: int, starts: Any, ends: Any) -> None:
    """Where the part with this number is (from 1, or from the end if it is negative) of texts that are cut where
    `separators` says, at separators of this size; an empty one where there are fewer."""
    for row in range(len(starts)):
        begin, first, cuts = offsets[row], found[row], found[row + 1] - found[row]
        part = number - 1 if number > 0 else cuts + 1 + number
        starts[row] = ends[row] = begin
        if 0 <= part <= cuts:
            starts[row] = begin + places[first + part - 1] + size if part else begin
            ends[row] = begin + places[first + part] if part < cuts else offsets[row + 1]

"""Regular expressions over columns of ASCII text, in machine code.

1. A pattern becomes a program of a few instructions (`program`), which one function interprets for all patterns: none
   is compiled while rows wait. It tries alternatives in order, as Java and Python do, and goes back where one fails.
2. What is seldom written is left to others: None is the program of a pattern with look-arounds, back references and the
   like, or with a repetition of what may be empty.
3. Going back may take very long. Who exceeds a number of steps in proportion to the text gives up, and so does who must
   remember too much: then nothing is said of the column.
4. A match begins only at certain characters, mostly: others are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from headway.kernels.texts import INTS, READ_BYTES, READ_INTS, Ints, Texts

_CHARS = 128
_MOST_COPIES = 16
_MANY = 1 << 30
_DEPTH = 256
_STEPS = 64
"""Steps per character that may be taken before giving up."""
CHAR, SET, SPAN, SPLIT, JUMP, SAVE, BEGIN, END, MATCH = range(9)
"""Instructions (op, a, b, c): the character a; one of the set a; as many of the set a as there are, at least b and at
most c; go on at a, or if that fails at b; go on at a; here is the bound a of the groups; the text begins, or ends."""


class _Unknown(Exception):
    """The pattern has something that programs do not."""


@dataclass(frozen=True, eq=False)
class Program:
    """`sets` has a row of flags per set; `firsts` flags the characters that a match may begin with."""

    code: npt.NDArray[np.int32]
    sets: npt.NDArray[np.bool_]
    firsts: npt.NDArray[np.bool_]
    groups: int

    def find(self, texts: Texts, group: int) -> tuple[Ints, Ints] | None:
        """Where the first match of every text has this group; an empty part where there is none. None: not known."""
        if not texts.ascii:
            return None
        starts, ends = np.empty((2, len(texts.offsets) - 1), np.int32)
        done = _find(self.code, self.sets, self.firsts, self.groups, *texts, group, starts, ends)
        return (starts, ends) if done else None


@lru_cache(maxsize=256)
def program(pattern: str) -> Program | None:
    """The program of a pattern of Python's, with the flag ASCII.

    >>> program("a(b|c)*d") is None, program("(a*)*") is None
    (False, True)
    """
    parsed = _parser.parse(pattern, re.ASCII)
    if parsed.state.flags & ~re.ASCII & ~re.UNICODE:
        return None
    writer = _Writer()
    try:
        writer.sequence(parsed)
    except _Unknown:
        return None
    writer.add(MATCH)
    sets = np.array(writer.sets or [[False] * _CHARS], np.bool_)
    return Program(np.array(writer.code, np.int32), sets, _firsts(writer.code, sets), parsed.state.groups)


@dataclass
class _Writer:
    """Writes the instructions of a parsed pattern."""

    code: list[list[int]] = field(default_factory=list)
    sets: list[list[bool]] = field(default_factory=list)

    def add(self, op: int, a: int = 0, b: int = 0, c: int = 0) -> list[int]:
        self.code.append([op, a, b, c])
        return self.code[-1]

    def sequence(self, items: Iterable[tuple[Any, Any]]) -> None:
        for op, value in items:
            write = _WRITERS.get(op)
            if write is None:
                raise _Unknown
            write(self, value)

    def literal(self, char: int) -> None:
        if char >= _CHARS:
            raise _Unknown
        self.add(CHAR, char)

    def one_of(self, items: Any) -> None:
        self.add(SET, self.set_of(items))

    def set_of(self, items: Iterable[tuple[Any, Any]]) -> int:
        flags = [False] * _CHARS
        negated = False
        for op, value in items:
            negated = negated or op is sre.NEGATE
            test = _MEMBERS.get(op)
            if test is None:
                raise _Unknown
            flags = [flag or test(value, char) for char, flag in enumerate(flags)]
        self.sets.append([flag != negated for flag in flags])
        return len(self.sets) - 1

    def branch(self, value: tuple[Any, Any]) -> None:
        *others, last = value[1]
        ends = []
        for alternative in others:
            split = self.add(SPLIT, len(self.code) + 1)
            self.sequence(alternative)
            ends.append(self.add(JUMP))
            split[2] = len(self.code)
        self.sequence(last)
        for jump in ends:
            jump[1] = len(self.code)

    def group(self, value: tuple[Any, int, int, Any]) -> None:
        number, on, off, items = value
        if on or off:
            raise _Unknown
        if number is None:
            self.sequence(items)
            return
        self.add(SAVE, 2 * number)
        self.sequence(items)
        self.add(SAVE, 2 * number + 1)

    def at(self, where: Any) -> None:
        if where in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            self.add(BEGIN)
        elif where is sre.AT_END_STRING:
            self.add(END)
        else:
            raise _Unknown

    def most(self, value: tuple[int, Any, Any]) -> None:
        least, most, items = value
        one = self._single(items)
        if one is None:
            self._repeat(least, most, items, greedy=True)
        else:
            self.add(SPAN, one, least, _MANY if most is sre.MAXREPEAT else most)

    def fewest(self, value: tuple[int, Any, Any]) -> None:
        self._repeat(*value, greedy=False)

    def _single(self, items: Any) -> int | None:
        """The set of what is one character; None if it is more."""
        if len(items) != 1 or items[0][0] not in (sre.LITERAL, sre.NOT_LITERAL, sre.IN):
            return None
        op, value = items[0]
        return self.set_of(value if op is sre.IN else [(op, value)])

    def _repeat(self, least: int, most: Any, items: Any, greedy: bool) -> None:
        endless = most is sre.MAXREPEAT
        if items.getwidth()[0] == 0 or least > _MOST_COPIES or (not endless and most > _MOST_COPIES):
            raise _Unknown
        for _ in range(least):
            self.sequence(items)
        splits = []
        for _ in range(1 if endless else most - least):
            began = len(self.code)
            splits.append(self.add(SPLIT))
            self.sequence(items)
            if endless:
                self.add(JUMP, began)
            inside, after = began + 1, len(self.code)
            splits[-1][1:3] = (inside, after) if greedy else (after, inside)
        for split in splits:  # once is enough to leave them all
            split[2 if greedy else 1] = len(self.code)


_WRITERS: dict[Any, Callable[[_Writer, Any], None]] = {
    sre.LITERAL: _Writer.literal,
    sre.NOT_LITERAL: lambda writer, char: writer.one_of([(sre.NOT_LITERAL, char)]),
    sre.IN: _Writer.one_of,
    sre.BRANCH: _Writer.branch,
    sre.SUBPATTERN: _Writer.group,
    sre.AT: _Writer.at,
    sre.MAX_REPEAT: _Writer.most,
    sre.MIN_REPEAT: _Writer.fewest,
}
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
_MEMBERS: dict[Any, Callable[[Any, int], bool]] = {
    sre.NEGATE: lambda _, char: False,
    sre.LITERAL: lambda value, char: char == value,
    sre.NOT_LITERAL: lambda value, char: char != value,
    sre.RANGE: lambda value, char: value[0] <= char <= value[1],
    sre.CATEGORY: lambda value, char: re.match(_CATEGORIES[value], chr(char), re.ASCII) is not None,
}


def _firsts(code: list[list[int]], sets: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The characters that a match may begin with; none at all: it may be empty."""
    firsts = np.zeros(_CHARS, np.bool_)
    seen, waiting = set(), [0]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        op, a, b, _ = code[at]
        if op in (MATCH, END):
            return np.zeros(0, np.bool_)
        if op == CHAR:
            firsts[a] = True
        elif op in (SET, SPAN):
            firsts |= sets[a]
        waiting += {SPLIT: [a, b], JUMP: [a], CHAR: [], SET: []}.get(op, [at + 1] if op != SPAN or b == 0 else [])
    return firsts


@numba.njit(  # type: ignore[untyped-decorator]
    numba.boolean(
        numba.int32[:, ::1], numba.boolean[:, ::1], numba.boolean[::1], numba.int64, READ_BYTES, READ_INTS,
        numba.int64, INTS, INTS
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def _find(
    code: Any, sets: Any, firsts: Any, groups: int, data: Any, offsets: Any, group: int, starts: Any, ends: Any
) -> bool:
    """See `Program.find`; false: it gave up."""
    slots, stack = np.empty(2 * groups + 2, np.int64), np.empty((_DEPTH, 3), np.int64)
    for row in range(len(starts)):
        begin, end = offsets[row], offsets[row + 1]
        left = (end - begin + 16) * _STEPS
        starts[row] = ends[row] = begin
        for first in range(begin, end + 1):
            if len(firsts) and (first == end or not firsts[data[first]]):
                continue
            slots[:] = -1
            pc, at, top = np.int64(0), np.int64(first), 0
            found = False
            while True:
                left -= 1
                if left < 0 or top > _DEPTH - 2:
                    return False
                op, a = code[pc, 0], code[pc, 1]
                going = True
                pc += 1
                if op == CHAR:
                    going = at < end and data[at] == a
                    at += 1
                elif op == SET:
                    going = at < end and sets[a, data[at]]
                    at += 1
                elif op == SPAN:
                    low, most = at + code[pc - 1, 2], min(np.int64(end), at + code[pc - 1, 3])
                    while at < most and sets[a, data[at]]:
                        at += 1
                    going = at >= low
                    if at > low:
                        stack[top, 0], stack[top, 1], stack[top, 2] = pc, at, low
                        top += 1
                elif op == SPLIT:
                    stack[top, 0], stack[top, 1], stack[top, 2] = code[pc - 1, 2], at, at
                    top += 1
                    pc = np.int64(a)
                elif op == JUMP:
                    pc = np.int64(a)
                elif op == SAVE:
                    stack[top, 0], stack[top, 1], stack[top, 2] = -1 - a, slots[a], 0
                    top += 1
                    slots[a] = at
                elif op == BEGIN:
                    going = at == begin
                elif op == END:
                    going = at == end
                else:
                    found = True
                    break
                while not going and top > 0:
                    top -= 1
                    pc, at = stack[top, 0], stack[top, 1]
                    if pc < 0:
                        slots[-1 - pc] = at
                        continue
                    if at > stack[top, 2]:  # one character of a span less
                        at -= 1
                        if at > stack[top, 2]:
                            stack[top, 1] = at
                            top += 1
                    going = True
                if not going:
                    break
            if found:
                slots[0], slots[1] = first, at
                if slots[2 * group + 1] >= 0:
                    starts[row], ends[row] = slots[2 * group], slots[2 * group + 1]
                break
    return True

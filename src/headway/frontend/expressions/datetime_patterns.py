"""Patterns of dates and times as lists of fields, for those letters that need no locale's rules.

A field is a letter and how often it stood, or a literal text (letter "").
"""

from __future__ import annotations

import re
from itertools import pairwise

from headway.errors import UnsupportedPlan

Field = tuple[str, int, str]

# How often a letter may stand.
_PRINTED = {"y": (1, 4), "M": (1, 4), "d": (1, 2), "H": (1, 2), "h": (1, 2), "m": (1, 2), "s": (1, 2)}
_PRINTED |= {"S": (1, 9), "E": (1, 4), "a": (1, 1), "D": (1, 3), "L": (1, 4), "k": (1, 2), "K": (1, 2), "Q": (1, 3)}
_PRINTED |= {"X": (1, 3), "x": (1, 3), "Z": (1, 3), "V": (2, 2)}
_READ = {"y": (2, 4), "M": (1, 4), "d": (1, 2), "H": (1, 2), "m": (1, 2), "s": (1, 2), "S": (1, 9)}
_READ |= {"h": (1, 2), "a": (1, 1), "X": (1, 3), "x": (1, 3), "Z": (1, 3)}
_TOKEN = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z'\[\]{}#]+)")


def fields(pattern: str, reading: bool) -> tuple[Field, ...]:
    """The fields of `pattern`, or `UnsupportedPlan` that names what is not known.

    >>> fields("yyyy-MM", reading=False)
    (('y', 4, ''), ('', 0, '-'), ('M', 2, ''))
    """
    found: list[Field] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise _refusal(pattern, pattern[at])
        at = token.end()
        found.append(_field(pattern, token, _READ if reading else _PRINTED))
    if reading:
        _check_widths(pattern, found)
    return tuple(found)


def _field(pattern: str, token: re.Match[str], known: dict[str, tuple[int, int]]) -> Field:
    if token["letters"] is None:
        quoted = token["quoted"]
        return ("", 0, token["other"] if quoted is None else quoted.replace("''", "'") or "'")
    letter, count = token["letters"][0], len(token["letters"])
    low, high = known.get(letter, (1, 0))
    if not low <= count <= high:
        raise _refusal(pattern, token["letters"])
    return (letter, count, "")


def _check_widths(pattern: str, found: list[Field]) -> None:
    """A number of any width may not touch the next, and a field may not come twice."""
    letters = [letter for letter, _, _ in found if letter]
    if ("h" in letters) != ("a" in letters) or ("h" in letters and "H" in letters):
        raise _refusal(pattern, "h without a, or a without h,")
    if ("y", 3, "") in found or len([letter for letter in letters if letter in "XxZ"]) > 1:
        raise _refusal(pattern, "yyy, or a second offset,")
    touching = [a for a, b in pairwise(found) if a[0] and b[0] and (a[1] == 1 or a[0] == "S")]
    if touching or len(letters) != len(set(letters)):
        raise _refusal(pattern, touching[0][0] if touching else "a field that comes twice")


def _refusal(pattern: str, what: str) -> UnsupportedPlan:
    return UnsupportedPlan(f"datetime pattern {pattern!r}", f"{what} has no native implementation yet")

"""Text cut by separators and patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.json import over_distinct
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.rowwise import constant, is_constant, per_distinct
from headway.kernels.lists import build, list_array, lists_of
from headway.kernels.texts import find_part, parts, separators, texts_of

Args = Sequence[pa.Array]
_STRINGS = T.ArrayType(T.StringType())


@evaluates("StringSplit")
def _split(call: Call, args: Args) -> pa.Array:
    plain = call.option("plain")
    if plain is not None and is_constant(call, 1):
        return _at(args[0], plain, constant(call, 1))
    pattern = re.compile(call.option("python"), re.ASCII)
    rows = zip(args[0].to_pylist(), args[1].to_pylist(), strict=True)
    return build([None if s is None or n is None else _cut(pattern, s, n) for s, n in rows], _STRINGS)


def _at(text: pa.Array, separator: str, limit: int = 0) -> pa.Array:
    """Cut at a separator that is plain text, into at most `limit` pieces if it is positive."""
    found = lists_of(pc.split_pattern(text, separator, max_splits=limit - 1 if limit > 0 else None))
    return list_array(found.values, found.lengths, found.valid)


def _cut(pattern: re.Pattern[str], text: str, limit: int) -> list[str]:
    """As Java cuts: at most `limit` pieces if it is positive, none empty before a first match that is empty."""
    if not pattern.pattern and text:
        return list(text) if limit <= 0 or limit >= len(text) else [*text[: limit - 1], text[limit - 1 :]]
    found: list[str] = []
    at = 0
    for match in pattern.finditer(text):
        if match.end() == 0 or (limit > 0 and len(found) == limit - 1):
            continue
        found.append(text[at : match.start()])
        at = match.end()
    return [*found, text[at:]]


@evaluates("StringSplitSQL")
def _split_sql(call: Call, args: Args) -> pa.Array:
    if constant(call, 1):
        return _at(args[0], constant(call, 1))
    rows = zip(args[0].to_pylist(), args[1].to_pylist(), strict=True)
    return build([None if None in (s, by) else s.split(by) if by else [s] for s, by in rows], _STRINGS)


@evaluates("Separators")
def _separators(call: Call, args: Args) -> pa.Array:
    """Where the separator begins in every text, in bytes."""
    found, places = separators(texts_of(args[0]), np.frombuffer(call.option("separator").encode(), np.uint8))
    return pa.ListArray.from_arrays(pa.array(found), pa.array(places), type=arrow_type(call.type))


@evaluates("SplitPart")
def _split_part(call: Call, args: Args) -> pa.Array:
    """The piece of a text with this number, from 1, or from the end if it is negative; empty where there is none."""
    text, found = args
    texts = texts_of(text)
    starts, ends = np.empty((2, len(text)), np.int32)
    places = found.offsets.to_numpy(), found.values.to_numpy()
    find_part(texts.offsets, *places, call.option("size"), call.option("number"), starts, ends)
    return parts(text, texts, starts, ends)


@evaluates("RegExpExtractAll")
def _extract_all(call: Call, args: Args) -> pa.Array:
    pattern, group = re.compile(call.option("python"), re.ASCII), call.option("group")
    return over_distinct(lambda text: [m[group] or "" for m in pattern.finditer(text)], args[0], _STRINGS)


@evaluates("RegExpInStr")
def _position(call: Call, args: Args) -> pa.Array:
    search = re.compile(call.option("python"), re.ASCII).search

    def position(text: str) -> int:
        match = search(text)
        return 0 if match is None else match.start() + 1

    return per_distinct(position, args[0], pa.int32())

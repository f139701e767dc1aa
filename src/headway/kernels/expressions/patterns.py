"""Matching of patterns over the whole column, by RE2 or by machine code of ours where they can, else by Python over
distinct rows. RE2 tells quickly that there is a match, but where its groups are takes it several times as long."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.rowwise import per_distinct
from headway.kernels.expressions.vectors import only, valid
from headway.kernels.matcher import program
from headway.kernels.texts import parts, texts_of

Args = Sequence[pa.Array]


@evaluates("Like")
def _like(call: Call, args: Args) -> pa.Array:
    pattern = call.option("re2")
    return pa.nulls(len(args[0]), pa.bool_()) if pattern is None else pc.match_substring_regex(args[0], pattern)


@evaluates("RLike")
def _rlike(call: Call, args: Args) -> pa.Array:
    pattern = call.option("re2")
    if pattern is not None:
        return pc.match_substring_regex(args[0], pattern)
    search = re.compile(call.option("python"), re.ASCII).search
    return per_distinct(lambda text: search(text) is not None, args[0], pa.bool_())


@evaluates("RegExpReplace")
def _replace(call: Call, args: Args) -> pa.Array:
    pieces = call.option("pieces")
    pattern = re.compile(call.option("python"), re.ASCII)

    def expand(match: re.Match[str]) -> str:
        return "".join(piece if isinstance(piece, str) else match[piece] or "" for piece in pieces)

    return per_distinct(lambda text: pattern.sub(expand, text), args[0], pa.string())


@evaluates("RegExpExtract")
def _extract(call: Call, args: Args) -> pa.Array:
    group, named = call.option("group"), call.option("re2")
    ours, texts = program(call.option("python")), texts_of(args[0])
    places = None if ours is None else ours.find(texts, group)
    if places is not None:
        return parts(args[0], texts, *places)
    if named is not None:
        found = pc.fill_null(pc.struct_field(pc.extract_regex(args[0], named), f"g{group}"), "")
        return only(found, valid(args[0]))
    search = re.compile(call.option("python"), re.ASCII).search

    def first(text: str) -> str:
        match = search(text)
        return "" if match is None else match[group] or ""

    return per_distinct(first, args[0], pa.string())

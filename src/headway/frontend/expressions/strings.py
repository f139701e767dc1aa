"""Lowering of string and binary functions.

Calls have the children of Catalyst's expression as arguments, in order, but for these:
`Like(text)` with option `re2`; `RLike(text)` with `python` and `re2` (a pattern, or None);
`RegExpReplace(text)` with `python` and `pieces`; `RegExpExtract(text)` with `python`, `group` and `re2` (a pattern with
named groups, or None); what the optimizer leaves as a call of a Java method: `Base64(bytes)` with option `chunked`,
`BinaryStartsWith`, `BinaryEndsWith`, `BinaryContains`, `Encode` and `Decode` (UTF-8 only).
"""

from __future__ import annotations

import re

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.methods import lowers_method
from headway.frontend.expressions.regex import like, replacement, rewrite
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments, constant, lowers_all
from headway.frontend.tree import Tree

_STRING, _INT, _LONG, _BOOLEAN, _BINARY = T.StringType(), T.IntegerType(), T.LongType(), T.BooleanType(), T.BinaryType()

lowers_all(
    _STRING,
    *("Upper", "Lower", "InitCap", "StringTrim", "StringTrimLeft", "StringTrimRight", "StringLPad", "StringRPad"),
    *("StringReplace", "StringRepeat", "StringSpace", "SubstringIndex", "StringTranslate", "Chr", "Hex", "Md5", "Sha1"),
    *("Sha2", "FormatNumber", "SoundEx"),
)
lowers_all(
    _INT,
    *("Length", "OctetLength", "BitLength", "StringInstr", "StringLocate", "Ascii", "Levenshtein", "FindInSet"),
)
lowers_all(_LONG, "Crc32")
lowers_all(_BOOLEAN, "StartsWith", "EndsWith", "Contains")


@lowers("UnBase64", "Unhex")
def _decoded(tree: Tree, lowering: Lowering) -> Expr:
    return Call(_BINARY, tree.name, arguments(tree, lowering), (("ansi", tree.fields["failOnError"]),))


@lowers("ConcatWs")
def _concat_ws(tree: Tree, lowering: Lowering) -> Expr:
    return Call(_STRING, "ConcatWs", arguments(tree, lowering))


@lowers("Concat", "Substring", "Reverse", "Overlay")
def _of_same_type(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    if args and isinstance(args[0].type, T.ArrayType):
        return Call(args[0].type, f"Array{tree.name}", args)
    if not isinstance(args[0].type, T.StringType | T.BinaryType):
        raise UnsupportedPlan(f"expression {tree.name} of {args[0].type.simpleString()}")
    return Call(args[0].type, tree.name, args)


@lowers("Like")
def _like(tree: Tree, lowering: Lowering) -> Expr:
    text, pattern = arguments(tree, lowering)
    written = constant(tree, "pattern", pattern)
    escape = tree.fields["escapeChar"] or "\\"
    return Call(_BOOLEAN, "Like", (text,), (("re2", None if written is None else like(written, escape)),))


@lowers("RLike")
def _rlike(tree: Tree, lowering: Lowering) -> Expr:
    text, pattern = arguments(tree, lowering)
    regex = rewrite(_pattern(tree, pattern))
    return Call(_BOOLEAN, "RLike", (text,), (("python", regex.python), ("re2", regex.re2)))


@lowers("RegExpReplace")
def _regexp_replace(tree: Tree, lowering: Lowering) -> Expr:
    text, pattern, with_what, position = arguments(tree, lowering)
    if constant(tree, "position", position) != 1:
        raise UnsupportedPlan("expression RegExpReplace", "it does not start at position 1")
    python = rewrite(_pattern(tree, pattern)).python
    pieces = replacement(_pattern(tree, with_what), re.compile(python, re.ASCII).groups)
    return Call(_STRING, "RegExpReplace", (text,), (("python", python), ("pieces", pieces)))


@lowers("RegExpExtract")
def _regexp_extract(tree: Tree, lowering: Lowering) -> Expr:
    text, pattern, group = arguments(tree, lowering)
    regex = rewrite(_pattern(tree, pattern))
    number = constant(tree, "group", group)
    if number is None or not 0 <= number <= re.compile(regex.python, re.ASCII).groups:
        raise UnsupportedPlan("expression RegExpExtract", f"the pattern has no group {number}")
    options = (("python", regex.python), ("re2", regex.captures), ("group", number))
    return Call(_STRING, "RegExpExtract", (text,), options)


def _pattern(tree: Tree, expr: Expr) -> str:
    written = constant(tree, "pattern or replacement", expr)
    if written is None:
        raise UnsupportedPlan(f"expression {tree.name}", "its pattern or replacement is null")
    return str(written)


@lowers_method("Base64", "encode")
def _base64(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(_STRING, "Base64", args[:1], (("chunked", constant(tree, "chunking", args[1])),))


@lowers_method("Encode", "encode")
def _encode(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    _check_utf_8(tree, args[1])
    return Call(_BINARY, "Encode", args[:1])


@lowers_method("StringDecode", "decode")
def _decode(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    _check_utf_8(tree, args[1])
    return Call(_STRING, "Decode", args[:1])


def _check_utf_8(tree: Tree, charset: Expr) -> None:
    name = constant(tree, "character set", charset)
    if str(name).upper() != "UTF-8":
        raise UnsupportedPlan(f"character set {name}")


@lowers_method("ByteArrayMethods", "startsWith")
def _binary_starts_with(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(_BOOLEAN, "BinaryStartsWith", args)


@lowers_method("ByteArrayMethods", "endsWith")
def _binary_ends_with(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(_BOOLEAN, "BinaryEndsWith", args)


@lowers_method("ByteArrayMethods", "contains")
def _binary_contains(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(_BOOLEAN, "BinaryContains", args)

"""Lowering of functions that cut, format, mask and check text, and of those for addresses.

Calls have Catalyst's children as arguments, but for these: `StringSplit(text, limit)` with options `plain` (the
separator, if it is plain text, else None) and `python`, its pattern;
`RegExpExtractAll(text)` with `python` and `group`;
`RegExpInStr(text)` with `python`; `FormatString(values...)` with option `format`; `Elt(n, values...)` with `ansi`;
`Mask(text)` with option `marks`, what stands for upper case, lower case, digits and the rest (None: itself);
`UrlDecode(text)` with `ansi`; `ParseUrl(address)` with `part`, `key` (None: none) and `ansi`; `Hmac(key, message)` with
option `digest`; `BytePad(bytes, length, pad)` with option `left`; `Quote`, `Luhn`, `UrlEncode`, `ToBase32` and
`FromBase32` of one text; `JaroWinkler` of two; `ValidUtf8(text)` with option `bad`: "test", "null", "mend" or "fail".
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.methods import lowers_evaluator, lowers_method
from headway.frontend.expressions.regex import rewrite
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments, constant, lowers_all
from headway.frontend.tree import Tree

_STRING, _INT, _BINARY, _BOOLEAN = T.StringType(), T.IntegerType(), T.BinaryType(), T.BooleanType()
_SPECIAL = re.compile(r"[\\.\[\](){}*+?^$|]")
_PARTS = frozenset({"HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO"})
_DIGESTS = {"SHA-224": "sha224", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512", "MD5": "md5"}
_DIGESTS |= {name.replace("-", ""): digest for name, digest in _DIGESTS.items()} | {"SHA-1": "sha1", "SHA1": "sha1"}
_FORMATTED = (T.StringType, T.IntegralType, T.FractionalType, T.BooleanType)

lowers_all(T.ArrayType(_STRING), "StringSplitSQL")


@lowers("StringSplit")
def _split(tree: Tree, lowering: Lowering) -> Expr:
    text, pattern, limit = arguments(tree, lowering)
    written = constant(tree, "pattern", pattern)
    if written is None:
        raise UnsupportedPlan("expression StringSplit", "its pattern is null")
    plain = None if _SPECIAL.search(written) or not written else written
    options = (("plain", plain), ("python", rewrite(written).python))
    return Call(T.ArrayType(_STRING), tree.name, (text, limit), options)


def _regex(tree: Tree, pattern: Expr) -> str:
    written = constant(tree, "pattern", pattern)
    if written is None:
        raise UnsupportedPlan(f"expression {tree.name}", "its pattern is null")
    return rewrite(written).python


@lowers("RegExpExtractAll")
def _extract_all(tree: Tree, lowering: Lowering) -> Expr:
    text, pattern, group = arguments(tree, lowering)
    python, number = _regex(tree, pattern), constant(tree, "group", group)
    if number is None or not 0 <= number <= re.compile(python, re.ASCII).groups:
        raise UnsupportedPlan(f"expression {tree.name}", f"the pattern has no group {number}")
    return Call(T.ArrayType(_STRING), tree.name, (text,), (("python", python), ("group", number)))


@lowers("RegExpInStr")
def _position(tree: Tree, lowering: Lowering) -> Expr:
    text, pattern = arguments(tree, lowering)[:2]
    return Call(_INT, tree.name, (text,), (("python", _regex(tree, pattern)),))


@lowers("FormatString")
def _format(tree: Tree, lowering: Lowering) -> Expr:
    pattern, *values = arguments(tree, lowering)
    written = constant(tree, "format", pattern)
    for value in values:
        if not isinstance(value.type, _FORMATTED):
            raise UnsupportedPlan(f"expression FormatString of {value.type.simpleString()}")
    if written is None or not values:
        raise UnsupportedPlan("expression FormatString", "its format is null, or there is nothing to format")
    return Call(_STRING, tree.name, tuple(values), (("format", pieces(written, len(values))),))


_PIECE = re.compile(
    r"%(?:(?P<index>\d+)\$)?(?P<flags>[-+ 0,]*)(?P<width>\d+)?(?:\.(?P<precision>\d+))?(?P<letter>[a-zA-Z%])"
)


def pieces(pattern: str, count: int) -> tuple[Any, ...]:
    """A format of Java's: texts, and (argument, flags, width, precision, letter) for what is formatted.

    >>> pieces("%s-%05.1f%%", 2)
    ((0, '', 0, None, 's'), '-', (1, '0', 5, 1, 'f'), '%')
    """
    found: list[Any] = []
    at = following = 0
    while at < len(pattern):
        if pattern[at] != "%":
            end = pattern.find("%", at)
            found.append(pattern[at : end if end >= 0 else len(pattern)])
            at += len(found[-1])
            continue
        piece = _PIECE.match(pattern, at)
        if piece is None or piece["letter"] not in "sdfxXceEbn%":
            raise UnsupportedPlan(f"format {pattern!r}", f"{pattern[at : at + 4]} has no native implementation")
        at = piece.end()
        if piece["letter"] in "%n":
            found.append({"%": "%", "n": "\n"}[piece["letter"]])
            continue
        index = int(piece["index"]) - 1 if piece["index"] else following
        following += piece["index"] is None
        if index >= count:
            raise UnsupportedPlan(f"format {pattern!r}", "it has more places than there are values")
        precision = None if piece["precision"] is None else int(piece["precision"])
        found.append((index, piece["flags"], int(piece["width"] or 0), precision, piece["letter"]))
    return tuple(found)


@lowers("Elt")
def _elt(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    return Call(args[1].type, tree.name, args, (("ansi", tree.fields["failOnError"]),))


@lowers("Mask")
def _mask(tree: Tree, lowering: Lowering) -> Expr:
    text, *marks = arguments(tree, lowering)
    return Call(_STRING, tree.name, (text,), (("marks", tuple(constant(tree, "mark", mark) for mark in marks)),))


def _lowers_one(owner: str, method: str, name: str, result: T.DataType) -> None:
    """Register a method of one argument, without options."""

    @lowers_method(owner, method)
    def _one(tree: Tree, args: tuple[Expr, ...]) -> Expr:
        return Call(result, name, args[:1])


_lowers_one("UrlCodec", "encode", "UrlEncode", _STRING)
_lowers_one("ExpressionImplUtils", "quote", "Quote", _STRING)
_lowers_one("ExpressionImplUtils", "isLuhnNumber", "Luhn", _BOOLEAN)
_lowers_one("Base32", "encode", "ToBase32", _STRING)
_lowers_one("UnBase32", "decode", "FromBase32", _BINARY)
_lowers_one("BitmapExpressionUtils", "bitmapBitPosition", "BitmapBitPosition", T.LongType())
_lowers_one("BitmapExpressionUtils", "bitmapBucketNumber", "BitmapBucketNumber", T.LongType())
_lowers_one("BitmapExpressionUtils", "bitmapCount", "BitmapCount", T.LongType())


@lowers_method("UrlCodec", "decode")
def _url_decode(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(_STRING, "UrlDecode", args[:1], (("ansi", constant(tree, "mode", args[1])),))


@lowers_method("ExpressionImplUtils", "jaroWinklerSimilarity")
def _jaro_winkler(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(T.DoubleType(), "JaroWinkler", args)


@lowers_method("ExpressionImplUtils", "hmac")
def _hmac(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    name = constant(tree, "algorithm", args[2])
    digest = _DIGESTS.get(str(name).upper())
    if digest is None:
        raise UnsupportedPlan(f"hmac by {name}")
    return Call(_BINARY, "Hmac", args[:2], (("digest", digest),))


@lowers_method("ByteArray", "lpad")
def _lpad(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(_BINARY, "BytePad", args, (("left", True),))


@lowers_method("ByteArray", "rpad")
def _rpad(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    return Call(_BINARY, "BytePad", args, (("left", False),))


def _lowers_utf8(owner: str, method: str, bad: str) -> None:
    @lowers_method(owner, method)
    def _checked(tree: Tree, args: tuple[Expr, ...]) -> Expr:
        return Call(_BOOLEAN if bad == "test" else _STRING, "ValidUtf8", args[:1], (("bad", bad),))


_lowers_utf8("", "isValid", "test")
_lowers_utf8("", "makeValid", "mend")
_lowers_utf8("ExpressionImplUtils", "validateUTF8String", "fail")
_lowers_utf8("ExpressionImplUtils", "tryValidateUTF8String", "null")


@lowers_evaluator("ParseUrlEvaluator")
def _parse_url(tree: Tree, fields: list[Any], args: tuple[Expr, ...]) -> Expr:
    part = constant(tree, "part", args[1])
    key = constant(tree, "key", args[2]) if len(args) > 2 else None
    if part not in _PARTS or (len(args) > 2 and key is None):
        return Call(_STRING, "ParseUrl", args[:1], (("part", None), ("key", None), ("ansi", fields[3])))
    return Call(_STRING, "ParseUrl", args[:1], (("part", part), ("key", key), ("ansi", fields[3])))

"""Lowering of numbers read and written by a format: `to_number` and `to_char`.

Calls: `ToNumber(text)` with options `tokens` and `fails`; `ToCharacter(decimal)` with `tokens`. A token is a character
that a number may or must have (`$`, `.`, `S` for a sign, `M` for a minus, `<` and `>` around what is negative), or a
tuple: of groups of digits, the last first, how many each has, negative where fewer will do.
"""

from __future__ import annotations

import re

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments, constant
from headway.frontend.tree import Tree

Token = str | tuple[int, ...]
_PARTS = re.compile(r"[09,G]+|MI|PR|[.D$S]")
_GROUPS = re.compile(r"[09]+|[,G]")
_SAME = {"D": ".", "MI": "M", "PR": ">"}


@lowers("ToNumber", "TryToNumber")
def _to_number(tree: Tree, lowering: Lowering) -> Expr:
    text, format_ = arguments(tree, lowering)
    written = _format(tree, format_)
    before, _, after = written.upper().replace("D", ".").partition(".")
    scale = len(re.findall("[09]", after))
    kind = T.DecimalType(len(re.findall("[09]", before)) + scale, scale)
    options = (("tokens", tokens(written)), ("fails", tree.name == "ToNumber"))
    return Call(kind, "ToNumber", (text,), options)


@lowers("ToCharacter")
def _to_character(tree: Tree, lowering: Lowering) -> Expr:
    number, format_ = arguments(tree, lowering)
    return Call(T.StringType(), tree.name, (number,), (("tokens", tokens(_format(tree, format_))),))


def _format(tree: Tree, format_: Expr) -> str:
    written = constant(tree, "format", format_)
    if written is None:
        raise UnsupportedPlan(f"expression {tree.name}", "its format is null")
    return str(written)


def tokens(written: str) -> tuple[Token, ...]:
    """The tokens of a format, which Spark has found to be one.

    >>> tokens("S9,990.00")
    ('S', (-3, -1), '.', (-2,))
    """
    found: list[Token] = []
    for part in _PARTS.findall(written.upper()):
        if part[0] in "09,G":
            found.append(_digits(part, "." in found))
        else:
            found.append(_SAME.get(part, part))
    return ("<", *found) if ">" in found else tuple(found)


def _digits(part: str, fraction: bool) -> tuple[int, ...]:
    groups = [group for group in _GROUPS.findall(part) if group not in ",G"]
    return tuple(-len(g) if fraction or g[0] == "9" else len(g) for g in reversed(groups))

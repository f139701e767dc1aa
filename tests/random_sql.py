"""Random SQL expressions over columns whose kinds are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

Leaves = Mapping[str, Sequence[str]]
"""By kind (integer, double, decimal, string, boolean): columns and constants of it."""
NUMBERS = ("integer", "double", "decimal")
_COMPARED = ("integer", "double", "decimal", "string")


def trees(kind: str, depth: int, leaves: Leaves) -> st.SearchStrategy[str]:
    """SQL of an expression of some type of `kind`, at most `depth` levels above its leaves."""
    leaf = st.sampled_from(leaves[kind])
    if depth == 0:
        return leaf
    same, truth = trees(kind, depth - 1, leaves), trees("boolean", depth - 1, leaves)
    options = [
        leaf,
        _made("coalesce({}, {})", same, same),
        _made("if({}, {}, {})", truth, same, same),
        _made("case when {} then {} when {} then {} end", truth, same, truth, same),
        _made("nullif({}, {})", same, same),
    ]
    if kind == "boolean":
        options += _predicates(depth, leaves)
    else:
        options += [_made("greatest({}, {})", same, same), _made("least({}, {})", same, same)]
    if kind in NUMBERS:
        options += [_made(f"({{}} {operator} {{}})", same, same) for operator in "+-*%"]
        options += [_made("(-{})", same), _made("abs({})", same), _made("pmod({}, {})", same, same)]
    return st.one_of(options)


def _predicates(depth: int, leaves: Leaves) -> list[st.SearchStrategy[str]]:
    truth = trees("boolean", depth - 1, leaves)
    options = [_made("({} and {})", truth, truth), _made("({} or {})", truth, truth), _made("(not {})", truth)]
    for kind in (kind for kind in _COMPARED if kind in leaves):
        value = trees(kind, depth - 1, leaves)
        options += [_made(f"({{}} {operator} {{}})", value, value) for operator in ("=", "<", ">=", "<=>")]
        options += [_made("({} is null)", value), _made("({} in ({}, {}))", value, value, value)]
    return options


def _made(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda texts: pattern.format(*texts))

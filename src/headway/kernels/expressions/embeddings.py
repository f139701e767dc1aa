"""Functions of vectors, arrays of floats, value by value.

Sums are of doubles, in Spark's order: eight terms at a time, then what is left, one by one. A null inside gives null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.registry import RowError, evaluates

Vector = list[float]
_AT_ONCE = 8


def _summed(terms: Sequence[float]) -> float:
    total, whole = 0.0, len(terms) - len(terms) % _AT_ONCE
    for at in range(0, whole, _AT_ONCE):
        total += _chain(terms[at : at + _AT_ONCE])
    for term in terms[whole:]:
        total += term
    return total


def _chain(terms: Iterable[float]) -> float:
    """From left to right: `sum` need not be."""
    total = -0.0
    for term in terms:
        total += term
    return total


def _evaluates_vectors(name: str) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """Register a function of two values without nulls, neither themselves nor inside."""

    def register(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @evaluates(name)
        def _evaluate(call: Call, args: Sequence[pa.Array]) -> pa.Array:
            rows = zip(args[0].to_pylist(), args[1].to_pylist(), strict=True)
            return pa.array([_of_two(name, function, *row) for row in rows], arrow_type(call.type))

        return function

    return register


def _of_two(name: str, function: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    if one is None or other is None:
        return None
    vectors = [value for value in (one, other) if isinstance(value, list)]
    if len(vectors) == 2 and len(one) != len(other):
        raise RowError(f"[VECTOR_DIMENSION_MISMATCH] {name} of vectors of {len(one)} and {len(other)} numbers")
    return None if any(None in vector for vector in vectors) else function(one, other)


@_evaluates_vectors("VectorInnerProduct")
def _inner(one: Vector, other: Vector) -> float:
    return _summed([a * b for a, b in zip(one, other, strict=True)])


@_evaluates_vectors("VectorCosineSimilarity")
def _cosine(one: Vector, other: Vector) -> float | None:
    norms = math.sqrt(_inner(one, one) * _inner(other, other))
    return None if norms == 0 else _inner(one, other) / norms


@_evaluates_vectors("VectorL2Distance")
def _distance(one: Vector, other: Vector) -> float:
    apart = [a - b for a, b in zip(one, other, strict=True)]
    return math.sqrt(_inner(apart, apart))


@_evaluates_vectors("VectorNorm")
def _norm(vector: Vector, degree: float) -> float:
    if degree == 1:
        return _summed([abs(value) for value in vector])
    if degree == 2:
        return math.sqrt(_inner(vector, vector))
    if degree == math.inf:
        return math.nan if any(map(math.isnan, vector)) else max(map(abs, vector), default=0.0)
    raise RowError(f"[INVALID_VECTOR_NORM_DEGREE] the degree of a norm is 1, 2 or infinity, not {degree}")


@_evaluates_vectors("VectorNormalize")
def _normalized(vector: Vector, degree: float) -> Vector | None:
    norm = _norm(vector, degree)
    if not vector:
        return vector
    return None if norm == 0 else [value / norm for value in vector]

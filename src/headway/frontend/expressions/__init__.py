"""Lowering of expressions, a file per family; importing this package registers them all."""

from headway.frontend.expressions import casts, leaves
from headway.frontend.expressions.registry import Lowering, known, lowers

__all__ = ["Lowering", "casts", "known", "leaves", "lowers"]

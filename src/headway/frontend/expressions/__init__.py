"""Lowering of expressions, a file per family; importing this package registers them all."""

from headway.frontend.expressions import leaves
from headway.frontend.expressions.registry import Lowering, known, lowers

__all__ = ["Lowering", "known", "leaves", "lowers"]

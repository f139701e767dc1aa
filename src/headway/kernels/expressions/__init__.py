"""Interpreted expressions, a file per family; importing this package registers them all."""

from headway.kernels.expressions import casts, leaves, windows
from headway.kernels.expressions.registry import RowError, evaluate

__all__ = ["RowError", "casts", "evaluate", "leaves", "windows"]

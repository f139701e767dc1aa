"""Compiled expressions, a file per family; importing this package registers them all."""

from headway.kernels.compiled.expressions import arithmetic, comparison, logic, windows

__all__ = ["arithmetic", "comparison", "logic", "windows"]

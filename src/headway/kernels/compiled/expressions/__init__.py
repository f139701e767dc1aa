"""Compiled expressions, a file per family; importing this package registers them all."""

from headway.kernels.compiled.expressions import (
    arithmetic,
    bits,
    casts,
    comparison,
    hashes,
    logic,
    math,
    times,
    windows,
)

__all__ = ["arithmetic", "bits", "casts", "comparison", "hashes", "logic", "math", "times", "windows"]

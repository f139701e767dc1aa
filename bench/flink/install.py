"""Flink's Java libraries: `apache-flink-libraries` is what `apache-flink` runs, the whole distribution.

Flink's Python is left out: all it would add is Python between the rows.
"""

from __future__ import annotations

from pathlib import Path

from bench.peers import environment

VERSION = "2.3.0"


def flink_home() -> Path:
    """The folder with Flink's `lib`, installed when it is not there yet."""
    installed = environment("flink", VERSION, [f"apache-flink-libraries=={VERSION}"], dependencies=False)
    return next(installed.glob("lib/python*/site-packages/pyflink"))

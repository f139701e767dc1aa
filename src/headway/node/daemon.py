"""The process that Spark forks its Python workers from, with all that a node needs imported already.

1. Spark's own daemon imports nothing, so every worker that becomes a node imports for two seconds: at the start, and
   again after a failure. `spark.python.daemon.module` names this one instead; `headway.start()` sets it in a session
   that it makes.
2. No thread may run when it forks, for a lock that one holds would stay locked in the child. Arrow's allocator is told
   to start none; Spark itself tells numpy's library, by OMP_NUM_THREADS.
3. What is imported is frozen out of garbage collection, so that its pages stay shared.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys

_TASKS = "pyspark.worker"


def warm(worker: str) -> None:
    """Import what the workers of that module need; Spark has a daemon for every worker module."""
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    importlib.import_module(worker)
    if worker == _TASKS:
        importlib.import_module("headway.node.task").prepare()
    gc.collect()
    gc.freeze()


def main() -> None:
    """Spark runs this module with the name of the worker module."""
    from pyspark.daemon import manager

    warm(sys.argv[1] if len(sys.argv) > 1 else _TASKS)
    manager()


if __name__ == "__main__":
    main()

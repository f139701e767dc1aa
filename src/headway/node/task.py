"""The body of a node's Spark task."""

from __future__ import annotations

import importlib
import sys

from headway.cluster.protocol import NodeConfig
from headway.node.allocation import keep_memory
from headway.node.precedence import niceness, precedence
from headway.node.worker import Node
from headway.scheduling import thread_per_operator

SWITCH = 0.0002
"""Seconds. A thread of a sink or a source that computes gives the interpreter back to the loop so soon: by default the
loop waits 5 ms for it, each time that a kernel has let it go."""


def prepare() -> None:
    """Import what deployments bring objects of: then, it would hold up the queries that run already."""
    for module in ("headway.connectors.sinks", "headway.connectors.sources", "headway.kernels.expressions"):
        importlib.import_module(module)


def run_node(config: NodeConfig) -> None:
    """Run a node until it is told to end."""
    keep_memory()
    sys.setswitchinterval(SWITCH)
    prepare()
    kind = Node
    if thread_per_operator(config.conf):
        # For experiments alone: others need not load it.
        kind = importlib.import_module("headway.node.threaded").ThreadedNode
    with precedence(niceness(config.conf)):
        kind(config).run()

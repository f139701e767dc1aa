"""Sources by format: one small file per connector, one entry here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway.connectors.api import Connector, Narrowing
from headway.connectors.sources.files import FILE_FORMATS, open_files
from headway.connectors.sources.kafka import open_kafka
from headway.connectors.sources.python_source import open_python
from headway.connectors.sources.rate import open_rate
from headway.connectors.sources.rate_micro_batch import open_rate_micro_batch
from headway.connectors.sources.text_socket import open_socket
from headway.dataflow.graph import Relation, Source
from headway.dataflow.pruning import pruned
from headway.dataflow.stages import sources
from headway.errors import UnsupportedPlan

_FACTORIES: dict[str, Callable[[Source], Any]] = {
    "rate": open_rate,
    "rate-micro-batch": open_rate_micro_batch,
    "socket": open_socket,
    "kafka": open_kafka,
    **dict.fromkeys(FILE_FORMATS, open_files),
}


def open_source(source: Source) -> Connector:
    """The source of a plan's leaf, its options checked; called in the driver, sent to the nodes.

    >>> from pyspark.sql import types as T
    >>> from headway.dataflow.types import Field
    >>> schema = (Field("timestamp", T.TimestampType()), Field("value", T.LongType()))
    >>> rate = open_source(Source(schema, "rate", (("rowspersecond", "10"),)))
    >>> partition = rate.open(rate.partitions(nodes=1, restored=None, now=1000.0)[0])
    >>> partition.poll(now=1000.3, max_rows=100).batch.column(1).to_pylist()
    [0, 1, 2, 3]
    """
    factory = open_python if source.payload else _FACTORIES.get(source.format.lower())
    if factory is None:
        raise UnsupportedPlan(f"source {source.format}")
    opened: Connector = factory(source)
    return opened


def open_sources(plan: Relation) -> tuple[Relation, dict[Source, Connector]]:
    """A plan whose sources give what is read of them, where they are able to, and these sources."""
    opened = {source: open_source(source) for source in sources(plan)}
    able = {source: found for source, found in opened.items() if isinstance(found, Narrowing)}
    plan, narrowed = pruned(plan, able)
    narrow = {new: able[old].narrowed(columns) for new, (old, columns) in narrowed.items()}
    return plan, {source: narrow[source] if source in narrow else opened[source] for source in sources(plan)}


__all__ = ["open_source", "open_sources"]

"""The demo's live table: how each query does against its target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from headway.observe.progress import HEADWAY_KEY
from headway.query import StreamingQuery

_COLUMNS = ("query", "target ms", "p50 ms", "p95 ms", "p99 ms", "met %", "rows/s", "backlog")


@dataclass
class Line:
    """One query of the table. `percentiles` are of the last second in which it had results."""

    query: StreamingQuery
    target: float | None
    percentiles: dict[str, float] = field(default_factory=dict)
    met: int = 0
    missed: int = 0
    _counted: str = ""

    def update(self) -> None:
        for progress in self.query.recentProgress:
            if progress["timestamp"] > self._counted:
                self._count(progress)

    def forget(self) -> None:
        """Count from now on: what came while the query was starting is not shown."""
        self.update()
        self.percentiles, self.met, self.missed = {}, 0, 0

    def _count(self, progress: dict[str, Any]) -> None:
        own = progress[HEADWAY_KEY]
        self._counted = progress["timestamp"]
        self.met += own.get("met", 0)
        self.missed += own.get("missed", 0)
        self.percentiles = own.get("latency", {}).get("e2eLatencyMs") or self.percentiles

    def cells(self) -> list[str]:
        last = self.query.lastProgress or {}
        own = last.get(HEADWAY_KEY, {})
        return [
            str(self.query.name),
            "bulk" if self.target is None else f"{self.target * 1000:,.0f}",
            *(_ms(self.percentiles.get(name)) for name in ("P50", "P95", "P99")),
            _share(self.met, self.missed),
            f"{last.get('processedRowsPerSecond') or 0:,.0f}",
            f"{own.get('backlogRows', 0):,}",
        ]


def table(title: str, lines: list[Line]) -> Table:
    """The table as it is now."""
    made = Table(title=title)
    for name in _COLUMNS:
        made.add_column(name, justify="left" if name == "query" else "right", no_wrap=True)
    for line in lines:
        line.update()
        made.add_row(*line.cells())
    return made


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _share(met: int, missed: int) -> str:
    return f"{100 * met / (met + missed):.1f}" if met + missed else "-"

"""What user code of a query did to the processes it ran in, and what follows: see `node/user_process.py`."""

from __future__ import annotations

from dataclasses import replace

from headway.cluster.protocol import Deployment, Failed
from headway.dataflow.stages import Stage, relations
from headway.dataflow.user_code import runs_user_code

MOST_CRASHES = 3


class CodeFailures:
    """Of one query."""

    def __init__(self, name: str, stages: tuple[Stage, ...]) -> None:
        self._name = name
        self._user_code = any(map(runs_user_code, relations(stages)))
        self._isolated = False
        self._crashes = 0

    def node_lost(self) -> None:
        """A node was lost on which the query ran: its code may have been why, so that it gets processes of its own."""
        self._isolated = self._user_code

    def committed(self) -> None:
        """An epoch has ended."""
        self._crashes = 0

    def deployment(self, made: Deployment) -> Deployment:
        """As the query is to be deployed now."""
        return replace(made, isolation="process") if self._isolated else made

    def crashed(self, failure: Failed) -> bool:
        """Whether the query should be tried again, after a process of its code has ended."""
        self._crashes += failure.crashed
        return failure.crashed and self._crashes < MOST_CRASHES

    def story(self, failure: Failed) -> str:
        """What a user is told of a failure."""
        text = failure.text.strip()
        if not failure.crashed:
            return text
        return f"query {self._name}: {MOST_CRASHES} times in a row, without an epoch between, {text}"

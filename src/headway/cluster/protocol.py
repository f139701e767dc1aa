"""What the coordinator and the nodes tell each other. Pickled: every connection is authenticated and encrypted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headway.connectors.api import ConsumedSource, InlineSource, PlannedSource, Position, Sink
from headway.dataflow.stages import Stage, WatermarkPolicy
from headway.node.message import Barrier
from headway.observe.metrics import QueryMetrics
from headway.observe.trace import OperatorRun
from headway.scheduling import Policy


@dataclass(frozen=True)
class NodeConfig:
    """All that a node's process is born with; travels inside the task's closure."""

    index: int
    coordinator: str
    public_key: bytes
    secret_key: bytes
    policy: Policy
    conf: dict[str, str]


@dataclass(frozen=True)
class Hello:
    """A node's process is there. `incarnation` tells a new process of the same node from the old one."""

    node: int
    incarnation: str
    pid: int
    address: str


@dataclass(frozen=True)
class Peers:
    """Where all nodes can be reached, by index."""

    addresses: dict[int, str]


@dataclass(frozen=True)
class SourcePlan:
    """A source of a deployment: for an inline one, the partitions and their start positions, dealt to nodes in turn;
    for a consumed one, a position for each node; for a planned one, where to start."""

    key: str
    description: str
    connector: InlineSource | PlannedSource | ConsumedSource
    positions: tuple[Position, ...] = ()
    start: Position | None = None


@dataclass(frozen=True)
class Deployment:
    """A query as nodes run it. `number` is unique for each try to run it; what comes of older ones is ignored.

    `members` are the nodes it runs on, the first that of the stages that run on one. `states` are the files of the
    epoch to restore, by stage, and `values` what operators put beside them.
    """

    number: int
    query: str
    name: str
    """The query's name, or its id if it has none."""
    stages: tuple[Stage, ...]
    sources: dict[int, SourcePlan]
    sink: Sink
    output_mode: str
    watermarks: WatermarkPolicy
    latency: float | None
    measuring: bool
    """The target is not known yet: nothing is judged by it."""
    members: tuple[int, ...]
    epoch: int
    checkpoint: str
    states: dict[int, tuple[str, ...]]
    values: dict[int, tuple[Any, ...]]
    flush_every: float
    idle_after: float
    compile: str
    """background: start interpreted, change over when compiled. first: rows wait for it. never."""
    isolation: str = "inline"
    """Where user code runs: inline, in the node's process; process, in one of its own."""
    code_limit: float = 10.0
    """How many seconds a call of user code may take."""


@dataclass(frozen=True)
class Deploy:
    """The deployment is pickled by itself: what a node cannot load fails its own query, and not the node."""

    number: int
    deployment: bytes


@dataclass(frozen=True)
class Run:
    """All nodes have deployed: let rows flow."""

    number: int


@dataclass(frozen=True)
class Undeploy:
    number: int


@dataclass(frozen=True)
class Inject:
    """End an epoch."""

    number: int
    barrier: Barrier


@dataclass(frozen=True)
class Committed:
    """An epoch is committed; planners may let go of what came before these positions (by stage)."""

    number: int
    positions: dict[int, Position]


@dataclass(frozen=True)
class RowsTaken:
    """The driver's sink took a message of so many bytes."""

    number: int
    stage: int
    size: int


@dataclass(frozen=True)
class UsePolicy:
    """Another scheduling policy from now on, pickled."""

    policy: bytes


@dataclass(frozen=True)
class Aim:
    """The query's latency target is this from now on, seconds."""

    number: int
    latency: float


@dataclass(frozen=True)
class Record:
    """Begin, or end, to record the runs of operators."""

    on: bool


@dataclass(frozen=True)
class Shutdown:
    """The session ends."""


@dataclass(frozen=True)
class Deployed:
    number: int
    node: int


@dataclass(frozen=True)
class Undeployed:
    number: int
    node: int


@dataclass(frozen=True)
class Failed:
    """An operator raised. `error` is pickled if it can be; `text` is the traceback. `crashed`: a process of user code
    ended, and the query may be tried again."""

    number: int
    node: int
    text: str
    error: bytes | None
    crashed: bool = False


@dataclass(frozen=True)
class PolicyFailed:
    """A node's scheduling policy raised, or a new one could not be loaded; the node goes on by `goes_on_by`."""

    node: int
    goes_on_by: str
    text: str


@dataclass(frozen=True)
class Recorded:
    """Runs of operators, in order; `last` iff recording has ended."""

    node: int
    runs: list[OperatorRun]
    last: bool


@dataclass(frozen=True)
class EpochPassed:
    """All operators of a node are through a barrier, and their states are written; `files` has what they are in, by
    stage, files of earlier epochs among them.

    `measured` is what the node measured since its last report, with a draining barrier: who waited for all rows can
    then see them counted.
    """

    number: int
    node: int
    barrier: Barrier
    files: dict[int, list[str]]
    values: dict[int, Any]
    measured: tuple[QueryMetrics, dict[str, Any]] | None = None


@dataclass(frozen=True)
class Report:
    """What a node measured since its last report, by deployment; also its sign of life."""

    node: int
    metrics: dict[int, QueryMetrics] = field(default_factory=dict)
    facts: dict[int, dict[str, Any]] = field(default_factory=dict)

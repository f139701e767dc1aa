"""A query inside a node: the host of its operators, between them and the loop, the other nodes and the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headway.cluster.protocol import Deployment
from headway.dataflow.stages import relations
from headway.dataflow.user_code import runs_user_code
from headway.memory import HEAP, Memory
from headway.node.build import Build
from headway.node.memory import QueryMemory
from headway.node.message import Barrier, Message, message_header
from headway.node.operators.base import Operator
from headway.node.operators.chain import ChainOperator
from headway.node.operators.host import State
from headway.node.operators.marks import hurries
from headway.node.operators.planned import PlanOperator
from headway.node.operators.source import InlineOperator
from headway.node.ports import Channel
from headway.node.wire import Address, Credit, encode, encode_credit, encode_rows, read_message
from headway.observe.metrics import QueryMetrics
from headway.scheduling import ReplyContext

if TYPE_CHECKING:
    from headway.node.worker import Node


WARM_RUNS = 16


class Deployed:
    """A deployment in this node; the host of its operators."""

    def __init__(self, node: Node, deployment: Deployment) -> None:
        self._node = node
        self.number = deployment.number
        self.deployment = deployment
        self.latency = deployment.latency
        self._judged_by = None if deployment.measuring else deployment.latency
        self.metrics = QueryMetrics(self._judged_by)
        self.closed = False
        self.stirred = True
        """Something has happened since the last report."""
        self.nested = 0.0
        self.arrival = node.arrival
        self.now = node.clock.now
        self.dispatcher = node.dispatcher
        self.threads = node.threads
        self.account = node.ledger.open()
        self.rows_per_block = node.rows_per_block
        self.pace = node.pace
        self.memory: Memory = HEAP if node.blocks is None else QueryMemory(node.blocks, self.account)
        self.code_limit = code_limit(deployment)
        self.build = Build(deployment, node.index, self, node.compiler)
        try:
            self.build.build(self._transmit, self._to_driver)
        except BaseException:
            self._end_processes()
            raise
        self.operators = self.build.operators
        self._gathering = Gathering(len(self.operators))
        self.parts = Parts()
        self._acknowledge_remote()

    def burst(self) -> float:
        """For how long an operator takes messages, seconds."""
        return self._node.burst if hurries(self.latency) else 2 * self._node.burst

    @property
    def polls(self) -> int:
        """How many sources the node polls for this query."""
        return sum(isinstance(operator, InlineOperator) and operator.polls for operator in self.operators.values())

    def sources(self) -> int:
        return self._node.polled

    def _acknowledge_remote(self) -> None:
        for operator in self.operators.values():
            for key, channel in operator.channels.items():
                if key[1] != self._node.index:
                    channel.on_room, channel.on_reply = self._acknowledge(operator.stage, channel)

    def _acknowledge(
        self, stage: int, channel: Channel
    ) -> tuple[Callable[[int], None], Callable[[ReplyContext], None]]:
        upstream, node, number = channel.key

        def send(size: int, reply: ReplyContext | None) -> None:
            credit = Credit(self.number, upstream, stage, number, self._node.index, size, reply)
            self._node.send(node, encode_credit(credit))

        return lambda size: send(size, None), lambda reply: send(0, reply)

    def _transmit(self, node: int, address: Address, message: Message) -> None:
        self._node.send(node, encode(address, message._replace(sent=self.now())))

    def _to_driver(self, stage: int, message: Message) -> None:
        header = message_header(message._replace(sent=self.now()))
        pickled = pickle.dumps((self.number, self._node.index, stage, header))
        self._node.control.send_multipart([b"rows", pickled, encode_rows(message.batch)], copy=False)

    def notify(self, operator: Operator) -> None:
        self._node.notify(operator.schedule)

    def at(self, when: float, operator: Operator) -> None:
        self._node.at(when, self, operator)

    def passed(self, operator: Operator, barrier: Barrier, state: State) -> None:
        states = self._gathering.passed(operator.stage, barrier, state)
        if states is not None:
            self._node.write_states(self, barrier, states)

    def compiled(self) -> bool:
        """Whether every chain has changed over to its compiled kernel, or never will."""
        chains = [operator for operator in self.operators.values() if isinstance(operator, ChainOperator)]
        for chain in chains:
            chain.change_over()
        return all(chain.compiled for chain in chains)

    def ready(self) -> bool:
        """Whether rows may flow: all that must be there before is."""
        processes = all(process.ready() for process in self.build.processes)
        return processes and (self.deployment.compile != "first" or self.compiled())

    def start(self) -> None:
        for operator in self.operators.values():
            operator.start()

    def close(self) -> None:
        self.closed = True
        self._node.ledger.close(self.account)
        for operator in self.operators.values():
            operator.close()
        self._end_processes()

    def _end_processes(self) -> None:
        for process in self.build.processes:
            process.close()

    def receive(self, address: Address, header: tuple[Any, ...], rows: Any) -> None:
        operator = self.operators[address.stage]
        message = read_message(header, rows, self.build.schema_into(address.stage, address.channel[2]))
        operator.receive(operator.channels[address.channel], message.arrived(self.now()))

    def commit(self, positions: dict[int, Any]) -> None:
        """What lies before these positions of planned sources is in a committed checkpoint."""
        for stage, position in positions.items():
            operator = self.operators.get(stage)
            if isinstance(operator, PlanOperator):
                operator.commit(position)

    def credit(self, credit: Credit) -> None:
        port = self.build.remote_ports[credit.upstream, credit.stage, credit.number, credit.node]
        if credit.reply is None:
            port.taken(credit.size)
        else:
            port.replied(credit.reply)

    def aim(self, latency: float) -> None:
        """The query has another target from now on."""
        self.latency = self._judged_by = self.metrics.target = latency
        for operator in self.operators.values():
            for converter in operator.knows():
                converter.latency, converter.held = latency, None

    def inject(self, barrier: Barrier) -> None:
        for operator in self.operators.values():
            if isinstance(operator, InlineOperator | PlanOperator):
                operator.inject(barrier)

    def report(self, now: float) -> tuple[QueryMetrics, dict[str, Any]]:
        self.stirred = False
        for operator in self.operators.values():
            operator.measure(now)
        self.metrics.in_flight, self.metrics.blocks = self.account.held, self.account.blocks
        taken, self.metrics = self.metrics, QueryMetrics(self._judged_by)
        return taken, {"compiled": self.compiled(), "serviceMs": 1000 * self._service()}

    def _service(self) -> float:
        """What a message costs on its way from the source to the sink, without any waiting."""
        return max(
            (
                o.own.cost + o.own.path
                for o in self.operators.values()
                if not o.channels and o.profile.runs >= WARM_RUNS
            ),
            default=0.0,
        )


def with_hint(error: Exception) -> Exception:
    """An error of building a deployment, and what to do about it where that is known."""
    if isinstance(error, ModuleNotFoundError):
        error.add_note(f"Nodes need the module {error.name} too: give it to Spark, as with sc.addPyFile.")
    return error


def code_limit(deployment: Deployment) -> float | None:
    """How many seconds a call may take; None iff no code of the user's runs in this process."""
    inline = deployment.isolation == "inline" and any(map(runs_user_code, relations(deployment.stages)))
    return deployment.code_limit if inline else None


class Gathering:
    """The states of a node's operators at barriers, until all are through."""

    def __init__(self, operators: int) -> None:
        self._operators = operators
        self._states: dict[int, dict[int, State]] = {}

    def passed(self, stage: int, barrier: Barrier, state: State) -> dict[int, State] | None:
        """All states of the barrier's epoch, if this was the last."""
        states = self._states.setdefault(barrier.epoch, {})
        states[stage] = state
        return self._states.pop(barrier.epoch) if len(states) == self._operators else None


Files = dict[int, list[str]]
"""By stage."""


class Parts:
    """The files that each stage's state of a node is in, in the order in which they are restored."""

    def __init__(self) -> None:
        self._files: Files = {}

    def written(self, states: dict[int, State], files: dict[int, str]) -> Files:
        """An epoch's states were written to `files`, but for those without rows; all files that it needs."""
        for stage, state in states.items():
            before = self._files.get(stage, []) if state.adds else []
            self._files[stage] = [*before, files[stage]] if stage in files else before
        return {stage: names for stage, names in self._files.items() if names}

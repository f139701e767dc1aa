"""Builds the operators of a deployment in one node, wires them, and gives them their states back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import inf
from typing import Any

import pyarrow as pa

from headway.cluster.protocol import Deployment
from headway.dataflow.graph import Relation
from headway.dataflow.stages import (
    ChainStage,
    Edge,
    InlineStage,
    KeyedStage,
    MergeStage,
    PlanStage,
    ReadStage,
    SinkStage,
    Stage,
    has_watermark,
)
from headway.dataflow.types import arrow_schema
from headway.dataflow.user_code import runs_user_code
from headway.dataflow.windows import event_column, waits_for_watermark, windows_of
from headway.kernels.api import ChainKernel, partial_schema
from headway.kernels.compiled import Compiler, why_not
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.keyed import keyed_kernel
from headway.kernels.merges import merge_kernel
from headway.node.message import Message
from headway.node.operators.base import Operator
from headway.node.operators.chain import ChainOperator
from headway.node.operators.consumed import ConsumeOperator
from headway.node.operators.host import Host, State
from headway.node.operators.keyed import KeyedOperator
from headway.node.operators.merge import MergeOperator
from headway.node.operators.planned import TASK_SCHEMA, PlanOperator, ReadOperator
from headway.node.operators.sink import DriverSink, InlineSink, ThreadedSink
from headway.node.operators.source import InlineOperator
from headway.node.outputs import ByKey, Forward, Output, Share, Spread
from headway.node.ports import ChannelKey, HandingPort, LocalPort, Port, RemotePort
from headway.node.snapshots import read_state
from headway.node.user_process import IsolatedChain, IsolatedKeyed, UserProcess
from headway.node.wire import Address
from headway.scheduling import Converter, Lag, ProgressMap, ReplyContext, Windows

DRIVER = -1
"""Stands for a node where rows go to the driver."""

Transmit = Callable[[int, Address, Message], None]


class Build:
    """Makes the operators of one deployment for one node."""

    def __init__(self, deployment: Deployment, node: int, host: Host, compiler: Compiler) -> None:
        self.deployment = deployment
        self.node = node
        self._home = deployment.members[0]
        """The node of the stages that run on one."""
        self._rank = deployment.members.index(node)
        self.host = host
        self._compiler = compiler
        self.operators: dict[int, Operator] = {}
        self.processes: list[UserProcess] = []
        """Those of user code that does not run here."""
        self.remote_ports: dict[tuple[int, int, int, int], RemotePort] = {}
        """By upstream stage, stage, which of its inputs it is, and node."""
        self.schema_into = cache(self._schema_into)

    def build(self, transmit: Transmit, to_driver: Callable[[int, Message], None]) -> None:
        stages = self.deployment.stages
        lag = Lag()
        for stage in stages:
            if self._runs(stage, self.node):
                self.operators[stage.id] = _MAKERS[type(stage)](self, stage)
                flow = self.operators[stage.id].profile.flow
                flow.stage, flow.place, flow.lag = stage.id, stage.id, lag
                if self.deployment.watermarks == "max":
                    self.operators[stage.id].inputs.highest_of = {s.id for s in stages if has_watermark(s)}
        for stage in stages:
            operator = self.operators.get(stage.id)
            if operator is not None:
                operator.own = self._converter(None)
                for consumer in stages:
                    for number, edge in enumerate(consumer.inputs):
                        if edge.upstream == stage.id:
                            self._connect(operator, consumer, number, edge, transmit)
            if isinstance(operator, DriverSink):
                self._to_driver(operator, to_driver)
        self._restore()

    def _runs(self, stage: Stage, node: int) -> bool:
        return stage.placement == "everywhere" or node == self._home

    def _to_driver(self, operator: DriverSink, send: Callable[[int, Message], None]) -> None:
        stage = operator.stage
        port = RemotePort(lambda message: send(stage, message), operator, lambda reply: None)
        operator.port = port
        self.remote_ports[stage, stage, 0, DRIVER] = port

    def _nodes(self, stage: Stage) -> Sequence[int]:
        return self.deployment.members if stage.placement == "everywhere" else (self._home,)

    def channels(self, stage: Stage) -> list[ChannelKey]:
        """The channels into this node's operator of `stage`, one per upstream operator."""
        found: list[ChannelKey] = []
        for number, edge in enumerate(stage.inputs):
            upstream = self.deployment.stages[edge.upstream]
            nodes = self._nodes(upstream) if edge.kind != "forward" else (self.node,)
            found += [(edge.upstream, node, number) for node in nodes if self._runs(upstream, node)]
        return found

    def _connect(self, operator: Operator, consumer: Stage, number: int, edge: Edge, transmit: Transmit) -> None:
        if edge.kind == "marks":
            known = self._converter(None)
            ports = [self._port(operator, consumer, number, node, transmit, known) for node in self._nodes(consumer)]
            operator.listeners += [(port, known) for port in ports]
            return
        mode = self.deployment.output_mode
        converter = self._converter(windows_of(consumer.chain, mode) if isinstance(consumer, ChainStage) else None)
        output = self._output(operator, consumer, number, edge, transmit, converter)
        operator.outputs = [*operator.outputs, output]
        operator.ports = [*operator.ports, *output.ports]
        operator.converters.append(converter)
        if isinstance(consumer, SinkStage):
            operator.deaf.append(output)
        if isinstance(operator, InlineOperator) and len(operator.converters) == 1:
            # How urgent a poll is depends on how far what it brings is from a window's end.
            own = operator.own
            own.windows, own.progress = converter.windows, converter.progress
            own.reached, own.ends = converter.reached, converter.ends

    def _converter(self, windows: Windows | None) -> Converter:
        deployment = self.deployment
        latency = inf if deployment.latency is None else deployment.latency
        return Converter(deployment.name, latency, windows, ProgressMap() if windows is not None else None)

    def _output(
        self, operator: Operator, consumer: Stage, number: int, edge: Edge, transmit: Transmit, converter: Converter
    ) -> Output:
        if edge.kind == "forward":
            return Forward(self._port(operator, consumer, number, self.node, transmit, converter))
        ports = [self._port(operator, consumer, number, node, transmit, converter) for node in self._nodes(consumer)]
        if edge.kind == "spread":
            return Spread(ports)
        return ByKey(ports, edge.keys)

    def _port(
        self, operator: Operator, consumer: Stage, number: int, node: int, transmit: Transmit, converter: Converter
    ) -> Port:
        key = (operator.stage, self.node, number)

        def replied(reply: ReplyContext) -> None:
            self.host.dispatcher.process_reply(converter, node, reply)

        if node == self.node:
            target = self.operators[consumer.id]
            target.channels[key].on_reply = replied
            kind = HandingPort if target.at_once and len(target.channels) == 1 else LocalPort
            return kind(target, target.channels[key], operator)
        address = Address(self.deployment.number, consumer.id, key)
        port = RemotePort(lambda message: transmit(node, address, message), operator, replied)
        self.remote_ports[operator.stage, consumer.id, number, node] = port
        return port

    def _restore(self) -> None:
        deployment = self.deployment
        for stage, operator in self.operators.items():
            files = deployment.states.get(stage, ())
            if isinstance(operator, ChainOperator):
                files = tuple(f for i, f in enumerate(files) if i % len(deployment.members) == self._rank)
            values = deployment.values.get(stage, ())
            if files or values:
                tables = [State(read_state(deployment.checkpoint, file)) for file in files]
                operator.restore(tables + [State(value=value) for value in values])

    def _schema_into(self, stage: int, number: int) -> pa.Schema:
        """The schema of rows that come to the input `number` of `stage` from other nodes."""
        target = self.deployment.stages[stage]
        if target.inputs[number].kind == "marks":
            return pa.schema([])
        if isinstance(target, KeyedStage):
            return arrow_schema(target.relation.streams[number].schema)
        return partial_schema(target.aggregate) if isinstance(target, MergeStage) else TASK_SCHEMA

    def inline(self, stage: InlineStage) -> Operator:
        plan = self.deployment.sources[stage.id]
        consumers = [s for s in self.deployment.stages if any(edge.upstream == stage.id for edge in s.inputs)]
        columns = {event_column(s.chain) for s in consumers if isinstance(s, ChainStage)}
        column = columns.pop() if len(columns) == 1 else None
        idle_after = self.deployment.idle_after
        if hasattr(plan.connector, "consume"):
            share = (self._rank, len(self.deployment.members))
            return ConsumeOperator(self.host, stage.id, plan, share, column, idle_after)
        mine = [(i, p) for i, p in enumerate(plan.positions) if i % len(self.deployment.members) == self._rank]
        partitions = [(i, plan.connector.open(p)) for i, p in mine]  # type: ignore[union-attr]
        return InlineOperator(self.host, stage.id, plan.key, partitions, plan.description, column, idle_after)

    def plan(self, stage: PlanStage) -> Operator:
        plan = self.deployment.sources[stage.id]
        connector, idle_after = plan.connector, self.deployment.idle_after
        return PlanOperator(self.host, stage.id, plan.key, connector, plan.start, idle_after)  # type: ignore[arg-type]

    def read(self, stage: ReadStage) -> Operator:
        plan = self.deployment.sources[stage.inputs[0].upstream]
        channels = self.channels(stage)
        return ReadOperator(self.host, stage.id, channels, plan.key, plan.connector)  # type: ignore[arg-type]

    def chain(self, stage: ChainStage) -> Operator:
        deployment = self.deployment
        chain = stage.chain
        make = partial(InterpretedChain, chain)
        kernel: ChainKernel = IsolatedChain(self._process(make)) if self._isolates(*chain.steps) else make()
        compiles = deployment.compile != "never" and (chain.steps or chain.aggregate) and why_not(chain) is None
        return ChainOperator(
            self.host,
            stage.id,
            self.channels(stage),
            chain,
            kernel,
            self._compiler.request(chain) if compiles else None,
            None if waits_for_watermark(chain, deployment.output_mode) else deployment.flush_every,
            deployment.idle_after,
            stage.whole,
            self._merge_of(stage),
        )

    def _merge_of(self, stage: ChainStage) -> tuple[str, str] | None:
        merges = (s for s in self.deployment.stages if isinstance(s, MergeStage) and s.inputs[0].upstream == stage.id)
        return next(((str(merge.id), merge.aggregate.operator) for merge in merges), None)

    def merge(self, stage: MergeStage) -> Operator:
        deployment = self.deployment
        aggregate = stage.aggregate
        return MergeOperator(
            self.host,
            stage.id,
            self.channels(stage),
            merge_kernel(aggregate),
            aggregate.operator,
            deployment.output_mode,
            deployment.flush_every,
            self._share(stage),
        )

    def _isolates(self, *relations: Relation) -> bool:
        return self.deployment.isolation == "process" and any(map(runs_user_code, relations))

    def _process(self, make: Callable[[], object]) -> UserProcess:
        self.processes.append(UserProcess(make, self.deployment.code_limit))
        return self.processes[-1]

    def keyed(self, stage: KeyedStage) -> Operator:
        relation = stage.relation
        make = partial(keyed_kernel, relation)
        kernel = IsolatedKeyed(self._process(make)) if self._isolates(relation) else make()
        channels = self.channels(stage)
        return KeyedOperator(self.host, stage.id, channels, kernel, relation.operator, self._share(stage))

    def _share(self, stage: Stage) -> Share:
        owners = list(self._nodes(stage))
        return Share(len(stage.inputs[0].keys), owners.index(self.node), len(owners))

    def sink(self, stage: SinkStage) -> Operator:
        sink = self.deployment.sink
        channels = self.channels(stage)
        if sink.to_driver:
            return DriverSink(self.host, stage.id, channels)
        writer = sink.writer(f"{self.deployment.query}-{self.node}")
        kind = InlineSink if sink.inline else ThreadedSink
        return kind(self.host, stage.id, channels, writer, self.deployment.epoch, sink.visible_at_commit)


_MAKERS: dict[type[Stage], Callable[[Any, Any], Operator]] = {
    InlineStage: Build.inline,
    PlanStage: Build.plan,
    ReadStage: Build.read,
    ChainStage: Build.chain,
    MergeStage: Build.merge,
    KeyedStage: Build.keyed,
    SinkStage: Build.sink,
}

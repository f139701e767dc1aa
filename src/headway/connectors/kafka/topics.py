"""Which partitions of Kafka a query reads: `subscribe`, `subscribePattern` or `assign`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from headway.connectors.kafka.client import TIMEOUT, Options, kafka
from headway.errors import HeadwayError, InvalidOption

Partition = tuple[str, int]
"""Topic and number."""

_STRATEGIES = ("assign", "subscribe", "subscribePattern")
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


@dataclass(frozen=True)
class Topics:
    """One of three: names of topics, a pattern of names, or partitions."""

    names: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[Partition, ...] = ()

    @classmethod
    def of(cls, options: Options) -> Topics:
        given = [name for name in _STRATEGIES if name.lower() in options]
        if len(given) != 1:
            said = " and ".join(given) or "none"
            raise InvalidOption(f"source kafka needs one of the options {', '.join(_STRATEGIES)}; it has {said}")
        value = options[given[0].lower()].strip()
        if given[0] == "assign":
            return cls(assigned=_assigned(value))
        if given[0] == "subscribePattern":
            return cls(pattern=_pattern(value))
        names = tuple(sorted({name.strip() for name in value.split(",")} - {""}))
        if not names:
            raise InvalidOption("option subscribe of source kafka names no topic: give one or more, with commas")
        return cls(names=names)

    @property
    def fixed(self) -> bool:
        """Whether no partition can join later."""
        return bool(self.assigned)

    def has(self, partition: Partition) -> bool:
        """Whether a partition of this name is read."""
        if self.assigned:
            return partition in self.assigned
        if self.pattern is not None:
            return re.fullmatch(self.pattern, partition[0]) is not None and partition[0] not in _INTERNAL
        return partition[0] in self.names

    def find(self, client: Any) -> list[Partition]:
        """The partitions that there are now. Asks the brokers."""
        topics = self._metadata(client)
        found = [(name, number) for name, topic in topics.items() for number in topic.partitions]
        return sorted(partition for partition in found if self.has(partition))

    def check(self, client: Any) -> list[Partition]:
        """The same, but every topic and partition that was named must be there."""
        found = self.find(client)
        missing = [f"topic {name}" for name in self.names if name not in {topic for topic, _ in found}]
        missing += [
            f"partition {number} of topic {name}" for name, number in self.assigned if (name, number) not in found
        ]
        if missing:
            raise HeadwayError(f"source kafka: there is no {missing[0]}: create it, or read others")
        return found

    def _metadata(self, client: Any) -> dict[str, Any]:
        try:
            if self.pattern is not None:
                topics = dict(client.list_topics(timeout=TIMEOUT).topics)
            else:
                named = sorted(set(self.names) | {topic for topic, _ in self.assigned})
                topics = {name: client.list_topics(name, timeout=TIMEOUT).topics[name] for name in named}
        except kafka().KafkaException as error:
            raise HeadwayError(f"the Kafka brokers did not answer: {error.args[0].str()}") from None
        return {name: topic for name, topic in topics.items() if topic.error is None}


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise InvalidOption(f"option subscribePattern of source kafka is {value!r}: {error}") from None
    if not value:
        raise InvalidOption("option subscribePattern of source kafka is empty: give a regular expression")
    return value


def _assigned(value: str) -> tuple[Partition, ...]:
    try:
        partitions = [(topic, int(number)) for topic, numbers in json.loads(value).items() for number in numbers]
    except (ValueError, AttributeError, TypeError):
        partitions = []
    if not partitions:
        raise InvalidOption(f'option assign of source kafka is {value!r}: give JSON such as {{"topic":[0,1]}}')
    return tuple(sorted(partitions))

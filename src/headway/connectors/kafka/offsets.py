"""Where in Kafka's partitions a query begins or ends, as Spark's options say it.

1. A timestamp for all partitions goes before timestamps by partition, these before offsets.
2. An offset of -1 is the latest, -2 the earliest. Offsets or timestamps by partition must name all partitions.
3. A partition without a record at or after its timestamp is an error, or begins at its end
   (`startingOffsetsByTimestampStrategy`); one to end at, ends at its end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headway.connectors.kafka.client import TIMEOUT, Options, kafka
from headway.connectors.kafka.topics import Partition
from headway.errors import HeadwayError, InvalidOption

LATEST, EARLIEST = -1, -2
Offsets = dict[Partition, int]


@dataclass(frozen=True)
class Bound:
    """A place in every partition: `default` for all, or `given` by partition, of offsets or of timestamps."""

    name: str
    default: int | None
    given: tuple[tuple[Partition, int], ...] = ()
    timestamps: bool = False
    strict: bool = False
    """Where no record has the timestamp or a later one: true: an error; false: the end."""

    @classmethod
    def of(cls, options: Options, which: str, default: int) -> Bound:
        """The bound that the options `which`Timestamp, `which`OffsetsByTimestamp and `which`Offsets say."""
        strict = which == "starting" and _strategy(options) == "error"
        stamp, by_stamp, by_offset = f"{which}Timestamp", f"{which}OffsetsByTimestamp", f"{which}Offsets"
        if stamp.lower() in options:
            return cls(stamp, _number(stamp, options[stamp.lower()]), timestamps=True, strict=strict)
        if by_stamp.lower() in options:
            return cls(by_stamp, None, _by_partition(by_stamp, options[by_stamp.lower()]), True, strict)
        value = options.get(by_offset.lower(), "").strip()
        named = {"": default, "latest": LATEST, "earliest": EARLIEST}.get(value.lower())
        return cls(by_offset, named, () if named is not None else _by_partition(by_offset, value))

    def resolve(self, client: Any, partitions: Iterable[Partition]) -> Offsets:
        """Offsets of `partitions`. Asks the brokers."""
        wanted = self._of_each(list(partitions))
        if self.timestamps:
            return self._resolve_timestamps(client, wanted)
        special = {partition: at for partition, at in wanted.items() if at < 0}
        return wanted | list_offsets(client, special)

    def _of_each(self, partitions: list[Partition]) -> Offsets:
        if self.default is not None:
            return dict.fromkeys(partitions, self.default)
        given = dict(self.given)
        if set(given) != set(partitions):
            raise HeadwayError(
                f"option {self.name} of source kafka names the partitions {nested(given)} and those to be read are "
                f"{nested(dict.fromkeys(partitions, 0))}: name all of them and no others"
            )
        return given

    def _resolve_timestamps(self, client: Any, wanted: Offsets) -> Offsets:
        found = list_offsets(client, wanted)
        none = [partition for partition, offset in found.items() if offset < 0]
        if none and self.strict:
            topic, number = none[0]
            raise HeadwayError(
                f"option {self.name} of source kafka: partition {number} of topic {topic} has no record at or after "
                f"{wanted[none[0]]}; startingOffsetsByTimestampStrategy=latest begins at the end of such partitions"
            )
        return found | list_offsets(client, dict.fromkeys(none, LATEST))


def list_offsets(client: Any, wanted: Mapping[Partition, int]) -> Offsets:
    """The offset of each partition's first record at or after a timestamp (-1 if there is none), or its end (LATEST)
    or its beginning (EARLIEST)."""
    if not wanted:
        return {}
    library = kafka()
    asked = [library.TopicPartition(topic, number, at) for (topic, number), at in wanted.items()]
    try:
        found = client.offsets_for_times(asked, timeout=TIMEOUT)
    except library.KafkaException as error:
        raise HeadwayError(f"the Kafka brokers did not tell their offsets: {error.args[0].str()}") from None
    for answer in found:
        if answer.error is not None:
            raise HeadwayError(
                f"the offsets of partition {answer.partition} of topic {answer.topic} are not to be had: "
                f"{answer.error.str()}"
            )
    return {(answer.topic, answer.partition): answer.offset for answer in found}


def nested(offsets: Mapping[Partition, int]) -> dict[str, dict[str, int]]:
    """Offsets as Spark writes them.

    >>> nested({("clicks", 0): 17, ("clicks", 1): 4})
    {'clicks': {'0': 17, '1': 4}}
    """
    found: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(number)] = offset
    return found


def flat(position: Mapping[str, Mapping[str, int]]) -> Offsets:
    """The reverse of `nested`."""
    return {(topic, int(number)): at for topic, numbers in position.items() for number, at in numbers.items()}


def _strategy(options: Options) -> str:
    name = "startingOffsetsByTimestampStrategy"
    value = options.get(name.lower(), "error").lower()
    if value not in ("error", "latest"):
        raise InvalidOption(f"option {name} of source kafka is {value!r}: give error or latest")
    return value


def _number(name: str, value: str) -> int:
    try:
        return int(value.strip())
    except ValueError:
        raise InvalidOption(f"option {name} of source kafka is {value!r}: give milliseconds since 1970") from None


def _by_partition(name: str, value: str) -> tuple[tuple[Partition, int], ...]:
    try:
        found = flat({topic: {n: int(at) for n, at in numbers.items()} for topic, numbers in json.loads(value).items()})
    except (ValueError, AttributeError, TypeError):
        found = {}
    if not found:
        raise InvalidOption(
            f"option {name} of source kafka is {value!r}: give earliest, latest, or JSON such as "
            '{"topic":{"0":23,"1":-2}}'
        )
    return tuple(sorted(found.items()))

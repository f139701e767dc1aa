"""The client library and its settings, from options as Spark's users write them.

1. Options `kafka.*` are settings of the client. Spark's users know them by their Java names; where the library calls a
   setting otherwise, the name is changed here.
2. What Spark refuses, because the engine itself decides it, is refused here.
3. A setting that the library does not have raises `UnsupportedPlan` that names it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headway.errors import HeadwayError, InvalidOption, UnsupportedPlan

_log = logging.getLogger("headway.kafka")
PREFIX = "kafka."
TIMEOUT = 30.0
"""Seconds that a question to the brokers may take."""

Options = Mapping[str, str]
"""Names in lower case."""

_REFUSED = {
    "auto.offset.reset": "set startingOffsets instead; a query that goes on, goes on where it was",
    "key.deserializer": "keys come as binary; convert them in the query",
    "value.deserializer": "values come as binary; convert them in the query",
    "key.serializer": "keys go out as binary; convert them in the query",
    "value.serializer": "values go out as binary; convert them in the query",
    "enable.auto.commit": "positions are kept in the query's checkpoint",
    "interceptor.classes": "the client has no interceptors",
    "transactional.id": "it is that of the query, so that an older run of the same query is fenced off",
}
_OTHER_NAMES = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "request.timeout.ms": "socket.timeout.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "max.request.size": "message.max.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_WITHOUT_MEANING = frozenset({"max.poll.records", "max.block.ms", "default.api.timeout.ms", "client.dns.lookup"})
"""They tune the Java client alone and change no result."""
_CREDENTIALS = re.compile(r"(\w+)\s*=\s*\"((?:[^\"\\]|\\.)*)\"")


def kafka() -> Any:
    """The client library."""
    try:
        import confluent_kafka
    except ImportError:
        raise HeadwayError('Kafka needs the package confluent-kafka: pip install "headway[kafka]" brings it') from None
    return confluent_kafka


def make(kind: str, given: Mapping[str, Any]) -> Any:
    """A Consumer or Producer; what it has to say goes to Headway's log."""
    return getattr(kafka(), kind)(dict(given), logger=_log)


def settings(options: Options, what: str) -> dict[str, str]:
    """The client's settings among the options of `what`, by the library's names."""
    given = {name[len(PREFIX) :]: value for name, value in options.items() if name.startswith(PREFIX)}
    for name in given.keys() & _REFUSED.keys():
        raise InvalidOption(f"option kafka.{name} of {what} cannot be set: {_REFUSED[name]}")
    if not given.get("bootstrap.servers"):
        raise InvalidOption(f"{what} needs the option kafka.bootstrap.servers: one or more of host:port")
    found = {_OTHER_NAMES.get(name, name): v for name, v in given.items() if name not in _WITHOUT_MEANING}
    return _with_credentials(_with_trust(found, what))


def _with_trust(found: dict[str, str], what: str) -> dict[str, str]:
    """A trust store in PEM is the library's `ssl.ca.location`; the Java formats are not read by it."""
    location, kind = found.pop("ssl.truststore.location", None), found.pop("ssl.truststore.type", "JKS")
    if location is None:
        return found
    if kind.upper() != "PEM":
        raise UnsupportedPlan(
            f"option kafka.ssl.truststore.location of {what}", "only trust stores in PEM can be read: convert it"
        )
    return found | {"ssl.ca.location": location}


def _with_credentials(found: dict[str, str]) -> dict[str, str]:
    """The user and password of a Java login module."""
    login = found.pop("sasl.jaas.config", None)
    if login is None:
        return found
    given = dict(_CREDENTIALS.findall(login))
    names = {"username": "sasl.username", "password": "sasl.password"}
    return found | {ours: given[theirs] for theirs, ours in names.items() if theirs in given}


@lru_cache(64)
def check(kind: str, given: tuple[tuple[str, Any], ...], what: str) -> None:
    """Raise if the library has no such settings; `kind` is Consumer or Producer."""
    library = kafka()
    try:
        client = make(kind, dict(given))
    except library.KafkaException as error:
        name = re.search(r'No such configuration property: "(.+?)"', error.args[0].str())
        if name is not None:
            raise UnsupportedPlan(
                f"option kafka.{name[1]} of {what}", "the client library has no such setting"
            ) from None
        raise InvalidOption(f"{what}: {error.args[0].str()}") from None
    if kind == "Consumer":
        client.close()

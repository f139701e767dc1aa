"""Connections: one key pair per session authenticates and encrypts them all; nothing listens without it.

Between nodes, each has one socket that others push to. A message travels as a pickled header and the rows in Arrow's
IPC format; the receiver knows their schema. What was taken from a channel is acknowledged: the sender's credit.
"""

from __future__ import annotations

import pickle
import socket
from typing import Any, NamedTuple
from urllib.parse import urlparse

import pyarrow as pa
import zmq
from zmq.auth.thread import ThreadAuthenticator

from headway.node.message import Message, message_from, message_header
from headway.node.ports import ChannelKey
from headway.scheduling import ReplyContext

LINGER_MS = 1000


class Keys(NamedTuple):
    """A CURVE key pair in Z85."""

    public: bytes
    secret: bytes

    @classmethod
    def fresh(cls) -> Keys:
        return cls(*zmq.curve_keypair())


class _OnlyOurs:
    """Lets in those who hold the session's key."""

    def __init__(self, public: bytes) -> None:
        self._public = public

    def callback(self, domain: str, key: bytes) -> bool:
        return key == self._public


class Endpoint:
    """A context whose sockets are all authenticated and encrypted with the session's keys."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.context = zmq.Context()
        self._authenticator = ThreadAuthenticator(self.context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback("*", credentials_provider=_OnlyOurs(keys.public))

    def listen(self, kind: int, host: str) -> tuple[zmq.Socket[bytes], str]:
        """A socket bound to a free port of `host`, and its address."""
        server = self._socket(kind)
        server.curve_server = True
        port = server.bind_to_random_port(f"tcp://{host}")
        return server, f"tcp://{host}:{port}"

    def connect(self, kind: int, address: str) -> zmq.Socket[bytes]:
        client = self._socket(kind)
        client.curve_serverkey = self._keys.public
        client.connect(address)
        return client

    def _socket(self, kind: int) -> zmq.Socket[bytes]:
        made: zmq.Socket[bytes] = self.context.socket(kind)
        made.linger = LINGER_MS
        # Credits bound what is under way, so the library's own limits may not drop or block.
        made.set_hwm(0)
        made.curve_publickey, made.curve_secretkey = self._keys
        return made

    def close(self) -> None:
        self._authenticator.stop()
        self.context.destroy(linger=LINGER_MS)


def own_host(coordinator: str) -> str:
    """The address by which the coordinator's machine reaches this one."""
    target = urlparse(coordinator)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((target.hostname, target.port))
        host: str = probe.getsockname()[0]
        return host


class Address(NamedTuple):
    """A channel of an operator in another node."""

    deployment: int
    stage: int
    channel: ChannelKey


class Credit(NamedTuple):
    """`node` took `size` bytes of what `upstream` sent to input `number` of `stage`; or, with a reply, its cost."""

    deployment: int
    upstream: int
    stage: int
    number: int
    node: int
    size: int
    reply: ReplyContext | None = None


def encode_rows(batch: pa.RecordBatch | None) -> Any:
    return b"" if batch is None else batch.serialize()


def encode(address: Address, message: Message) -> list[Any]:
    header = pickle.dumps((tuple(address), message_header(message)))
    return [header, b"" if message.batch is None else encode_rows(message.batch)]


def encode_credit(credit: Credit) -> list[Any]:
    return [pickle.dumps(tuple(credit))]


def decode(frames: list[Any]) -> tuple[Address, tuple[Any, ...], Any] | Credit:
    """A message's address, header and rows (still to be read with its schema), or a credit."""
    header = pickle.loads(frames[0])
    if len(frames) == 1:
        return Credit(*header)
    return Address(*header[0]), header[1], frames[1]


def read_message(header: tuple[Any, ...], rows: Any, schema: pa.Schema) -> Message:
    batch = pa.ipc.read_record_batch(pa.py_buffer(rows), schema) if len(rows) else None
    return message_from(header, batch)

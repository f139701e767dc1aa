"""Connections let in only those who hold the key, and carry messages whole."""

import pyarrow as pa
import zmq

from headway.node.message import Barrier, Message, Watermark
from headway.node.wire import Address, Credit, Endpoint, Keys, decode, encode, encode_credit, own_host, read_message


def receives(server: zmq.Socket[bytes], timeout_ms: int) -> list[bytes] | None:
    return server.recv_multipart() if server.poll(timeout_ms) else None


def test_a_stranger_is_not_heard() -> None:
    keys = Keys.fresh()
    ours, strangers = Endpoint(keys), Endpoint(Keys.fresh())
    try:
        server, address = ours.listen(zmq.PULL, "127.0.0.1")
        stranger = strangers.connect(zmq.PUSH, address)
        stranger.setsockopt(zmq.LINGER, 0)
        stranger.send(b"let me in")
        plain = strangers.context.socket(zmq.PUSH)
        plain.setsockopt(zmq.LINGER, 0)
        plain.connect(address)
        plain.send(b"me too")
        friend = ours.connect(zmq.PUSH, address)
        friend.send(b"hello")
        assert receives(server, 10_000) == [b"hello"]
        assert receives(server, 300) is None
    finally:
        strangers.close()
        ours.close()


def test_one_who_knows_the_public_key_only_is_not_heard() -> None:
    keys = Keys.fresh()
    public, secret = zmq.curve_keypair()
    ours, theirs = Endpoint(keys), Endpoint(Keys(keys.public, secret))
    try:
        server, address = ours.listen(zmq.PULL, "127.0.0.1")
        stranger = theirs.context.socket(zmq.PUSH)
        stranger.setsockopt(zmq.LINGER, 0)
        stranger.curve_publickey, stranger.curve_secretkey, stranger.curve_serverkey = public, secret, keys.public
        stranger.connect(address)
        stranger.send(b"let me in")
        assert receives(server, 500) is None
    finally:
        theirs.close()
        ours.close()


def test_a_message_arrives_as_it_was_sent() -> None:
    schema = pa.schema([("k", pa.int64()), ("s", pa.string())])
    batch = pa.record_batch([pa.array([1, None]), pa.array(["a", "ö"])], schema=schema)
    address = Address(3, 2, (1, 0, 0))
    for message in (
        Message(batch, 5, 2.0, 1.0, 1.5, 7, 3),
        Message(watermark=Watermark(9, True, (("s", 1),))),
        Message(barrier=Barrier(4, drain=True)),
        Message(marker=True, first_t=1.0),
    ):
        decoded = decode([bytes(frame) for frame in encode(address, message)])
        assert not isinstance(decoded, Credit)
        assert decoded[0] == address
        assert read_message(decoded[1], decoded[2], schema) == message
    assert decode([bytes(frame) for frame in encode_credit(Credit(1, 2, 3, 4, 5, 6))]) == Credit(1, 2, 3, 4, 5, 6)


def test_a_node_finds_the_address_it_is_reached_by() -> None:
    assert own_host("tcp://127.0.0.1:5555") == "127.0.0.1"

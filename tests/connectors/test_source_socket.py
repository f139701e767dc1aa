"""Lines of a real server over a real connection."""

from __future__ import annotations

import socket
import time

import pytest
from source_helpers import Driver, source_of

from headway.errors import HeadwayError, InvalidOption


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        yield listening


def lines(driver, count):
    """Rows until there are `count` of them; the pytest timeout is the limit."""
    rows = []
    while len(rows) < count:
        rows += driver.rows()
    return rows


def connected(server, schema="value string", **options):
    host, port = server.getsockname()
    driver = Driver(source_of("socket", schema, host=host, port=port, **options))
    connection, _ = server.accept()
    return driver, connection


def test_lines_come_as_they_are_sent(server):
    driver, connection = connected(server)
    assert not driver.source.replayable
    with connection:
        connection.sendall("a\nb\r\nné".encode())
        assert lines(driver, 2) == [("a",), ("b",)]
        connection.sendall(b" more\n\n")
        assert lines(driver, 2) == [("né more",), ("",)]
        assert driver.position == 4
    driver.planner.close()


def test_timestamps_are_times_of_arrival(server):
    driver, connection = connected(server, "value string, timestamp timestamp", includeTimestamp=True)
    before = time.time()
    with connection:
        connection.sendall(b"x\n")
        [(value, at)] = lines(driver, 1)
    assert value == "x"
    assert before - 0.001 <= at.timestamp() <= time.time()
    driver.planner.close()


def test_progress_counts_lines_as_spark_does(server):
    driver, connection = connected(server)
    assert driver.source.shown(driver.position) == -1
    with connection:
        connection.sendall(b"a\nb\nc\n")
        lines(driver, 3)
    assert driver.source.shown(driver.position) == 2


def test_the_last_line_needs_no_end(server):
    driver, connection = connected(server)
    connection.sendall(b"x\nlast")
    connection.close()
    assert lines(driver, 2) == [("x",), ("last",)]
    assert driver.rows() == []
    driver.planner.close()


def test_a_port_that_nobody_listens_on():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(HeadwayError, match=rf"cannot connect to 127\.0\.0\.1:{port} .* start the server"):
        Driver(source_of("socket", "value string", host="127.0.0.1", port=port))


@pytest.mark.parametrize(
    ("options", "words"),
    [({"port": 1}, "host"), ({"host": "h"}, "port"), ({"host": "h", "port": "x"}, "port")],
)
def test_bad_options(options, words):
    with pytest.raises(InvalidOption, match=words):
        Driver(source_of("socket", "value string", **options))

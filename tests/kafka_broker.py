"""A real Kafka broker (KRaft, one node, on loopback) from the Maven artifacts of Apache Kafka.

1. The jars are fetched once, by `mvn` if there is one, else by the Ivy that PySpark brings, each with the repositories
   that its own configuration names, and kept in the user's cache directory.
2. Java is that of Spark (`headway.java`).
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyspark

from headway.connectors.kafka.client import kafka
from headway.java import ensure_java

VERSION = "4.1.2"
START_SECONDS = 60.0
_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>headway</groupId><artifactId>broker</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
  </dependency></dependencies>
</project>
"""
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
"""
_names = itertools.count()


class Unavailable(Exception):
    """There is no Java, or the artifacts are not to be had."""


def java() -> str:
    ensure_java()
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java")
    assert found is not None
    return found


def artifacts(group: str, name: str, version: str) -> Path:
    """The directory with the jar of an artifact of Maven's and all that it needs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway" / "jars"
    kept = cache / f"{name}-{version}"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as made:
            _fetch(group, name, version, Path(made))
            try:
                os.replace(Path(made) / "lib", kept)
            except OSError:
                assert kept.exists()  # somebody else was first
    return kept


def _fetch(group: str, name: str, version: str, made: Path) -> None:
    told = []
    for fetch in (_by_maven, _by_ivy):
        shutil.rmtree(made / "lib", ignore_errors=True)
        command = fetch(group, name, version, made)
        if command is None:
            continue
        done = subprocess.run(command, cwd=made, capture_output=True, text=True, check=False)
        if done.returncode == 0 and any((made / "lib").glob(f"{name}-*.jar")):
            return
        told.append(f"{command[0]}: {done.stdout[-500:]}{done.stderr[-500:]}")
    raise Unavailable(f"{group}:{name}:{version} is not to be had: {told}")


def _by_maven(group: str, name: str, version: str, made: Path) -> list[str] | None:
    maven = shutil.which("mvn")
    if maven is None:
        return None
    java()
    (made / "pom.xml").write_text(_POM.format(group=group, name=name, version=version))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={made / 'lib'}"]
    return [maven, "--quiet", "--batch-mode", *goal]


def _by_ivy(group: str, name: str, version: str, made: Path) -> list[str]:
    [ivy] = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    pattern = f"{made / 'lib'}/[artifact]-[revision].[ext]"
    run = [java(), f"-Divy.default.ivy.user.dir={made / 'ivy'}", "-jar", str(ivy), "-dependency", group, name, version]
    return [*run, "-confs", "default", "-types", "jar", "bundle", "-retrieve", pattern]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [made.getsockname()[1] for made in sockets]
    for made in sockets:
        made.close()
    return ports


class Broker:
    """A broker that runs until `stop`, and what tests do with it."""

    def __init__(self, folder: Path) -> None:
        library = kafka()
        jars = artifacts("org.apache.kafka", "kafka_2.13", VERSION)
        port, control = _free_ports(2)
        self.servers = f"127.0.0.1:{port}"
        properties = folder / "server.properties"
        properties.write_text(_PROPERTIES.format(port=port, control=control, logs=folder / "logs"))
        run = [java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{jars}/*"]
        format_ = [*run, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(properties)]
        subprocess.run(format_, check=True, capture_output=True)
        self._log = (folder / "broker.log").open("w")
        self._process = subprocess.Popen([*run, "kafka.Kafka", str(properties)], stdout=self._log, stderr=self._log)
        self._wait(port)
        from confluent_kafka import admin

        self._make = admin
        self._admin = admin.AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        self._admin.list_topics(timeout=START_SECONDS)
        self._producer = library.Producer({"bootstrap.servers": self.servers, "linger.ms": 0, "log_level": 0})

    def _wait(self, port: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                assert self._process.poll() is None, Path(self._log.name).read_text()
                assert time.monotonic() < deadline, "the broker does not listen"
                time.sleep(0.05)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def topic(self, partitions: int = 1, name: str | None = None) -> str:
        """A new topic."""
        made = name or f"topic-{next(_names)}"
        self._admin.create_topics([self._make.NewTopic(made, partitions, 1)])[made].result()
        return made

    def grow(self, topic: str, partitions: int) -> None:
        self._admin.create_partitions([self._make.NewPartitions(topic, partitions)])[topic].result()

    def age_out(self, topic: str, partition: int, before: int) -> None:
        """Delete the records of a partition up to an offset."""
        [done] = self._admin.delete_records([kafka().TopicPartition(topic, partition, before)]).values()
        done.result()

    def abort(self, topic: str, *values: str, partition: int = 0) -> None:
        """Send values in a transaction that is taken back: there are offsets, and no rows."""
        name = f"aborts-{next(_names)}"
        producer = kafka().Producer({"bootstrap.servers": self.servers, "transactional.id": name, "log_level": 0})
        producer.init_transactions()
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=partition)
        producer.flush()
        producer.abort_transaction()

    def send(self, topic: str, *values: Any, partition: int = 0, **others: Any) -> None:
        for value in values:
            data = value if isinstance(value, bytes | None) else str(value).encode()
            while True:
                try:
                    self._producer.produce(topic, data, partition=partition, **others)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self._producer.flush()

    def read(self, topic: str, of: Callable[[Any], Any] = lambda m: m.value(), committed: bool = True) -> list[Any]:
        """All messages of a topic that are committed, or all."""
        level = "read_committed" if committed else "read_uncommitted"
        settings = {"bootstrap.servers": self.servers, "group.id": "tests", "isolation.level": level}
        consumer = kafka().Consumer(settings | {"enable.partition.eof": True, "fetch.wait.max.ms": 10})
        partitions = consumer.list_topics(topic).topics[topic].partitions
        consumer.assign([kafka().TopicPartition(topic, number, 0) for number in partitions])
        found: list[Any] = []
        ended: set[int] = set()
        while len(ended) < len(partitions):
            messages: Sequence[Any] = consumer.consume(1000, 0.1)
            for message in messages:
                error = message.error()
                if error is None:
                    found.append(of(message))
                elif error.name() == "_PARTITION_EOF":
                    ended.add(message.partition())
                else:
                    raise kafka().KafkaException(error)
        consumer.close()
        return found

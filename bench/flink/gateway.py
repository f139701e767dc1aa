"""A Java process with Flink and the benchmark's few Java classes, driven through Py4J.

The classes are compiled inside that process by Janino, which comes with Spark: a Java without a compiler will do.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from bench.flink.install import flink_home
from headway.java import ensure_java

_HEAP = "4g"
_PACKAGES = """java.io java.lang java.lang.invoke java.lang.reflect java.net java.nio java.text java.time java.util
    java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks sun.net.util sun.nio.ch"""
_REPORTERS = "META-INF/services/org.apache.flink.metrics.reporter.MetricReporterFactory"
_LOGGING = """rootLogger.level = ERROR
rootLogger.appenderRef.err.ref = err
appender.err.name = err
appender.err.type = CONSOLE
appender.err.target = SYSTEM_ERR
"""


def start(classes: Path) -> JavaGateway:
    """The process; what is compiled goes to the folder `classes`."""
    ensure_java()
    _write(classes / _REPORTERS, "bench.LatencyReporter\n")
    _write(classes / "log4j2.properties", _LOGGING)
    jars = Path(pyspark.__file__).parent / "jars"
    janino = [str(next(jars.glob(name))) for name in ("janino-*.jar", "commons-compiler-*.jar")]
    libraries = [str(jar) for jar in sorted((flink_home() / "lib").glob("*.jar"))]
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _PACKAGES.split()]
    port, token = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=os.pathsep.join([str(classes), *libraries, *janino]),
        javaopts=[f"-Xmx{_HEAP}", *opened],
        java_path=None if os.environ.get("JAVA_HOME") else "java",
        die_on_exit=True,
        enable_auth=True,
        redirect_stderr=sys.stderr,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    _compile(gateway, classes)
    return gateway


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _compile(gateway: JavaGateway, classes: Path) -> None:
    jvm = gateway.jvm
    compiler = jvm.org.codehaus.janino.CompilerFactory().newCompiler()
    compiler.setDestinationDirectory(jvm.java.io.File(str(classes)), False)
    sources = sorted(str(path) for path in Path(__file__).parent.glob("*.java"))
    compiler.compile(array(gateway, jvm.java.io.File, [jvm.java.io.File(path) for path in sources]))


def array(gateway: JavaGateway, of: Any, values: list[Any]) -> Any:
    """A Java array."""
    made = gateway.new_array(of, len(values))
    for at, value in enumerate(values):
        made[at] = value
    return made

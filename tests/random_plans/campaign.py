"""`make fuzz MINUTES=…`: random plans over random rows for as long as asked, checked against Spark's batch answers.

1. Every half minute it says how many plans were tried, how many of them ran natively, and how many failed.
2. A plan that fails is made smaller for a while, printed, and kept in the folder `cases`, which the tests replay.
3. The seed of a round is printed where it fails; `ARGS="--seed …"` begins with that one. The exit code is 1 if a plan
   failed.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import os
import sys
import time
from collections import Counter
from typing import NoReturn

from case_strategies import cases
from hypothesis import HealthCheck, Phase, given, seed, settings
from plan_cases import Case, folder
from plan_check import Undecided, check
from pyspark.sql import SparkSession

import headway
from headway.java import ensure_java

ROUND = 200
"""Plans per seed."""
SHRINKING = 90.0
"""Seconds in which a failing plan is made smaller."""
STUCK = 180.0
"""Seconds after which one plan is said to hang."""
TOLD_EVERY = 30.0


class Enough(BaseException):
    """Ends a round; not an Exception, which would be an answer to the plan."""


class Campaign:
    def __init__(self, spark: SparkSession, hw: headway.Headway, minutes: float) -> None:
        self._spark = spark
        self._hw = hw
        self._started = time.monotonic()
        self._end = self._started + minutes * 60
        self._told = self._started
        self._counts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._smallest: tuple[Case, str] | None = None
        """Not None iff a plan of this round has failed."""
        self._give_up = 0.0

    def run(self, first: int) -> int:
        """How many plans failed."""
        number = first
        while time.monotonic() < self._end:
            self._round(number)
            number += 1
        self._tell()
        for reason, count in self._reasons.most_common(12):
            print(f"  {count} times: {reason}")
        return self._counts["failed"]

    def _round(self, number: int) -> None:
        self._smallest = None
        phases = [Phase.generate, Phase.shrink]
        health = list(HealthCheck)

        @seed(number)
        @settings(max_examples=ROUND, deadline=None, database=None, phases=phases, suppress_health_check=health)
        @given(cases())
        def tried(case: Case) -> None:
            self._try(case)

        try:
            tried()
        except (Enough, Exception):
            if self._smallest is None and time.monotonic() < self._end:
                raise
        if self._smallest is not None:
            self._keep(*self._smallest, number)

    def _try(self, case: Case) -> None:
        now = time.monotonic()
        if now >= (self._end if self._smallest is None else self._give_up):
            raise Enough
        if now - self._told > TOLD_EVERY:
            self._tell()
        self._counts["tried"] += 1
        faulthandler.dump_traceback_later(STUCK, exit=True)
        try:
            check(self._spark, self._hw, case)
            self._counts["native"] += 1
        except Undecided as reason:
            self._counts[reason.kind] += 1
            self._reasons[f"{reason.kind}: {str(reason)[:150]}"] += 1
        except Exception as error:
            self._failed(case, f"{type(error).__name__}: {error}")
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _failed(self, case: Case, error: str) -> None:
        self._counts["native"] += 1
        if self._smallest is None:
            self._give_up = time.monotonic() + SHRINKING
            print(f"a plan fails, and is made smaller: {error[:300]}", flush=True)
        if self._smallest is None or case.size() < self._smallest[0].size():
            self._smallest = case, error

    def _keep(self, case: Case, error: str, number: int) -> None:
        self._counts["failed"] += 1
        text = case.to_json()
        path = folder() / f"found_{hashlib.sha1(text.encode()).hexdigest()[:8]}.json"
        path.write_text(text + "\n")
        print(f"FAILED (seed {number}), kept as {path}:\n{text}\n{error[:2000]}", flush=True)

    def _tell(self) -> None:
        self._told = time.monotonic()
        counts = self._counts
        known = counts["native"] + counts["fallback"]
        share = f"{counts['native'] / known:.1%}" if known else "none yet"
        others = ", ".join(f"{counts[kind]} {kind}" for kind in ("fallback", "refused", "undecided"))
        after = self._told - self._started
        print(
            f"{after:.0f} s: {counts['tried']} plans, native {share}, {others}, {counts['failed']} failed", flush=True
        )


def session() -> SparkSession:
    """One that is quick with few rows: a plan of its own for each would be compiled."""
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["TZ"] = "UTC"
    time.tzset()
    builder = SparkSession.builder.master("local[4]").appName("random plans")
    quick = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "America/New_York",
    }
    for key, value in quick.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main() -> NoReturn:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    spark = session()
    with headway.start(spark, nodes=2) as hw:
        failed = Campaign(spark, hw, arguments.minutes).run(arguments.seed)
    spark.stop()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

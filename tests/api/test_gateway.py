"""Answers of Spark's JVM."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from headway.gateway import answer_at_once, jvm_class, jvm_method, options_of


def in_a_new_thread(work: Callable[[], Any]) -> Any:
    """A thread has a connection of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def comes_at_once(spark: SparkSession) -> bool:
    client = spark.sparkContext._gateway.java_gateway_server.getCallbackClient()
    return bool(client.getPerThreadConnection().getSocket().getTcpNoDelay())


def test_long_answers_are_not_held_back(spark: SparkSession) -> None:
    def ask() -> tuple[bool, str, bool]:
        before = comes_at_once(spark)
        answer_at_once(spark)
        text = jvm_method(spark, "org.apache.commons.lang3.StringUtils", "repeat")("ab", 50_000)
        return before, text, comes_at_once(spark)

    assert in_a_new_thread(ask) == (False, "ab" * 50_000, True)


def test_a_thread_whose_connection_was_lost_is_told_again(spark: SparkSession) -> None:
    def ask() -> bool:
        answer_at_once(spark)
        spark.sparkContext._gateway._gateway_client.get_thread_connection().close()
        answer_at_once(spark)
        return comes_at_once(spark)

    assert in_a_new_thread(ask)


def test_classes_and_methods_are_looked_up_once(spark: SparkSession) -> None:
    assert jvm_class(spark, "java.lang.Math") is jvm_class(spark, "java.lang.Math")
    assert jvm_method(spark, "java.lang.Math", "abs")(-3) == 3


def test_options_come_as_they_were_given(spark: SparkSession) -> None:
    options = {"a": "1", "with = sign": "x,y", "quoted": '"{}"', "Case": "ÄÖ\n"}
    java_map = jvm_class(spark, "java.util.HashMap")()
    for key, value in options.items():
        java_map.put(key, value)
    assert options_of(spark, java_map) == options

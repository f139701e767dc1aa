"""Answers of Spark's JVM."""

from pyspark.sql import SparkSession

from headway.gateway import answer_at_once, jvm_class, jvm_method, options_of


def test_long_answers_are_not_held_back(spark: SparkSession) -> None:
    answer_at_once(spark)
    connection = spark.sparkContext._gateway.java_gateway_server.getCallbackClient().getPerThreadConnection()
    assert connection.getSocket().getTcpNoDelay()
    text = jvm_method(spark, "org.apache.commons.lang3.StringUtils", "repeat")("ab", 50_000)
    assert text == "ab" * 50_000


def test_classes_and_methods_are_looked_up_once(spark: SparkSession) -> None:
    assert jvm_class(spark, "java.lang.Math") is jvm_class(spark, "java.lang.Math")
    assert jvm_method(spark, "java.lang.Math", "abs")(-3) == 3


def test_options_come_as_they_were_given(spark: SparkSession) -> None:
    options = {"a": "1", "with = sign": "x,y", "quoted": '"{}"', "Case": "ÄÖ\n"}
    java_map = jvm_class(spark, "java.util.HashMap")()
    for key, value in options.items():
        java_map.put(key, value)
    assert options_of(spark, java_map) == options


def test_a_thread_whose_connection_was_lost_is_told_again(spark: SparkSession) -> None:
    gateway = spark.sparkContext._gateway
    answer_at_once(spark)
    gateway._gateway_client.get_thread_connection().close()
    answer_at_once(spark)
    connection = gateway.java_gateway_server.getCallbackClient().getPerThreadConnection()
    assert connection.getSocket().getTcpNoDelay()

"""Kafka through confluent-kafka: what the source, the sink and the Python data source for Spark share."""

"""Flink as a peer: its SQL planner and its Java runtime, embedded in a Java process of the benchmark's own."""

"""Nodes as Spark tasks, the coordinator, deploy, recover."""

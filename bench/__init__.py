"""Benchmarks: workloads, the papers' experiments, the peers."""

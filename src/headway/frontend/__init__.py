"""Catalyst plan to dataflow."""

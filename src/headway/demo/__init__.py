"""The demo: several queries with different targets over live streams, then one of them beside Structured Streaming."""

"""A long run near the highest load: what memory, page faults and latency do."""

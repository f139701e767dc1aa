"""A stage's computation over columns, interpreted and compiled."""

"""Which operator runs next. Pure: no clock, no socket, no thread."""

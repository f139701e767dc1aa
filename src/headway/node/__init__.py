"""One process: operators, inboxes, the worker loop, exchange, checkpoints."""

"""Lowering of expressions, a file per family; importing this package registers them all."""

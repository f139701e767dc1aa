"""The operators of a node, a file per kind of stage."""

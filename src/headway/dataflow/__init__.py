"""The dataflow graph: relations, expressions, types, stages."""

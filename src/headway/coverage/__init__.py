"""The page that says which of Spark's plan nodes and functions run natively."""

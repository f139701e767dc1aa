"""Functions of the user's over batches of rows, called as PySpark's own worker calls them."""

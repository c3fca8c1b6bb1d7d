"""Makes modules in Python, with a method for each operation that the operation semantics of XLA describe."""

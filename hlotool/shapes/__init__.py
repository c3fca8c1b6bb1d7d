"""Element types, layouts, shapes and attribute values: immutable, comparable, free of NumPy and of text parsing."""

"""Element types, layouts, shapes and attribute values: immutable records, independent of NumPy."""

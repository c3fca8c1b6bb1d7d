"""Element types, layouts, shapes, literals and attribute values: immutable records that do not depend on NumPy."""

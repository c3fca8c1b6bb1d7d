"""Literals: their text to values, values to bytes, bytes to text, with XLA's rounding."""

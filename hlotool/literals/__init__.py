"""Parses, decodes and prints literals, with XLA's rounding."""

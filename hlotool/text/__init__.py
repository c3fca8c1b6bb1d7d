"""Conversion between text and modules: reading, parsing, printing, formatting and locating."""

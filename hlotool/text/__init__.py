"""Conversion between text and modules: reading files, parsing, locating, printing and formatting."""

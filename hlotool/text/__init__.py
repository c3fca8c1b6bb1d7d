"""Conversion between text and modules: files, parsing, printing, locating and formatting."""

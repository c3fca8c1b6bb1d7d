"""Locates the parts of a parsed module in its text, for diagnostics and style rules."""

"""Finds the parts of a parsed module in its text, for diagnostics and for rules about spelling."""

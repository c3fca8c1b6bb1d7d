"""Prints modules as Python code: calls of `hlotool.Builder` that make the module again."""

"""Writes a module as Python code: calls to `hlotool.Builder` that rebuild it."""

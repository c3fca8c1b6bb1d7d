"""Prints modules as Python code: calls of `hlotool.Builder` that rebuild the module."""

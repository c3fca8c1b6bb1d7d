"""Conversion of framework programs to modules.

A framework is imported only when its function is called.
"""

"""Conversion of framework programs to modules.

A framework is imported only when its conversion function is called.
"""

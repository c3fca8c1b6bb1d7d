"""Analyses of a module.

They return their results by computation or instruction, and never store them on the nodes.
"""

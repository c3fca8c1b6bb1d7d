"""Analyses of a module.

An analysis returns its results, usually keyed by computation or instruction, and never stores them
in the module.
"""

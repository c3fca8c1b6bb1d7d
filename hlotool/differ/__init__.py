"""Structural comparison of modules: which instruction of one corresponds to which of the other, and what has changed."""

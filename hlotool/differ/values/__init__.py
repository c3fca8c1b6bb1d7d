"""Runs of the versions of a program on the same inputs, and comparisons of their values."""

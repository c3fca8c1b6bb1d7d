"""Formatter: applies XLA's spacing and attribute order, and checks that nothing else changed."""

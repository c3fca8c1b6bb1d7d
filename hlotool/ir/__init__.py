"""Modules, computations and instructions, and iterative walks over them."""

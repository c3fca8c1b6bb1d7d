"""Loops over numbers and small arrays in machine code, which Numba compiles once they have run long."""

"""Compiles loops over numbers and small arrays to machine code with Numba, once they are hot."""

"""Kernels: the functions that compute each opcode's values, in files that mirror `opdefs`."""

"""Kernels: how each opcode's values are computed, in files that mirror `opdefs`."""

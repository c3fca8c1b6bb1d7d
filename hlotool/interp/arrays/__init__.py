"""Values as NumPy arrays, and the arithmetic on them that kernels share."""

"""The plan compiler: computations as generated Python functions, which call the same kernels as the reference executor."""

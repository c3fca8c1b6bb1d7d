"""The plan compiler: turns computations into Python functions.

The generated functions call the same kernels as the reference executor.
"""

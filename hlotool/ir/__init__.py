"""The intermediate representation: modules, computations and instructions.

The Python modules of this package create, edit, copy, compare and walk these objects.
"""

"""The intermediate representation: modules, computations and instructions.

Its modules make, edit, copy, compare and walk them.
"""

"""Opcode definitions.

The definition of an opcode is a function. Its signature, body and docstring define the opcode's
operands, attributes, inferred shape and documentation.

Definitions work on shapes and attribute values, and have no access to instructions. `opdefs.table`
imports all definitions.
"""

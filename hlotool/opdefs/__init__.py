"""Opcode definitions.

A function defines the operands, attributes, inferred shape and documentation of each opcode.

Definitions work on shapes and attribute values, and have no access to instructions. `opdefs.table`
imports all of them.
"""

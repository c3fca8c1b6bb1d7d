"""Definitions of opcodes.

Each opcode has a function with its operands, attributes, inferred shape and documentation.

Definitions work on shapes and attribute values, and have no access to instructions. `opdefs.table`
imports all of them.
"""

"""Definitions of opcodes.

Each opcode has a function with its operands, attributes, inferred shape and documentation.

Definitions see shapes and attribute values, but no instructions. `opdefs.table` imports all of
them.
"""

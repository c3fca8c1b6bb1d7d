"""The definitions of opcodes: one function for each, with its operands, attributes, inferred shape and documentation.

Definitions see shapes and attribute values, but no instructions. `opdefs.table` imports all of them.
"""

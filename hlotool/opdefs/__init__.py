"""What an opcode is: its operands, attributes, inferred shape and documentation, one function each.

Sees shapes and values, never an instruction; `opdefs.table` is the complete table.
"""

"""Compiles loops and clusters to machine code with LLVM, once that is worthwhile."""

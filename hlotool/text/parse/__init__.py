"""Text to module: the grammar, its lexer, the fast path over whole lines, and the construction of instructions."""

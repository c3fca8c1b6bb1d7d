"""The parser: the grammar, its lexer, the fast path for whole lines, and the construction of modules."""

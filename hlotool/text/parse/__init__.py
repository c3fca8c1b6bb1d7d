"""Parser: the grammar, its lexer, the fast path for whole lines, and the module builder."""

"""Syntax highlighting: kinds of tokens, a lexer and editors' syntax files, all from the grammar."""

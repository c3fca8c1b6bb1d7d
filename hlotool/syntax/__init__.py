"""Syntax highlighting: token kinds, a lexer and editors' syntax files, derived from the grammar."""

"""Syntax highlighting: the kinds of tokens, a lexer for highlighting, and the syntax files of editors, all derived from the grammar."""

"""Texts before they are parsed: files, comments, operand marks, and the words that name a part of an instruction."""

"""Texts before parsing: files, whitespace and comments, index marks, and the names of the parts of an instruction."""

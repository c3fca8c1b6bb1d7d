"""Literals: parsing, decoding and printing, with XLA's rounding."""

"""Comparing many modules: pairs in folders, sequences of dumps, and predicates on differences."""

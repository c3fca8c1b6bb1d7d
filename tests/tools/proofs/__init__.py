"""Proofs of the rewrite rules: for all numbers of small types, with an SMT solver, and on random shapes."""

"""Proofs of the rewrite rules: on all numbers of small types, by an SMT solver, and on generated shapes."""

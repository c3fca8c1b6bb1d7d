"""Proofs of the rewrite rules: on all small numbers, by an SMT solver, and on random shapes."""

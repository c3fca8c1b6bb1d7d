"""Proofs of the rewrite rules: for all small numbers, with an SMT solver, and on random shapes."""

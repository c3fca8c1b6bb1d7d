"""JAX programs, grouped by subject; `make_programs.py` generates HLO files from them."""

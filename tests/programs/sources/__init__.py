"""Programs written in JAX, by subject; `make_programs.py` makes texts of them."""

"""The passes: each file has functions that change a module through a Rewriter."""

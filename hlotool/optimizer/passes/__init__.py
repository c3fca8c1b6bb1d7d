"""The passes: a file for each, with a function that changes a module through a Rewriter."""

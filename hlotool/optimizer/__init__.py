"""The optimizer: passes and rewrite rules that make a module smaller and never change its results."""

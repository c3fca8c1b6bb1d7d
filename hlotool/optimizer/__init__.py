"""The optimizer: passes and rewrite rules that shrink modules without changing their results."""

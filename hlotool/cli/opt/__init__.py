"""The subcommand that optimizes modules."""

"""The subcommand that runs modules."""

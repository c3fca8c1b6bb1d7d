"""The subcommands that compare modules."""

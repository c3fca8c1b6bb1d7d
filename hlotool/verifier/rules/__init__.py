"""Rules that do not belong to a single op definition. `verifier.registry` finds the files."""

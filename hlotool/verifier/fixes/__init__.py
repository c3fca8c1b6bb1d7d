"""Fixes, in one file for each family of codes; `verifier.fixing` finds the files."""

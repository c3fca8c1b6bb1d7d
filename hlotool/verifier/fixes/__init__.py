"""Fixes, one file per family of codes. `verifier.fixing` finds the files."""

"""Patches: differences as text, and applying them to modules."""

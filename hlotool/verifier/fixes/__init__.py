"""Fixes, in a file for each family of codes; files are found by themselves."""

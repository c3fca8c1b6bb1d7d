"""Prints findings, for people and for programs."""

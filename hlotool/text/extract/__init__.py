"""Finds modules inside other texts: logs, pages, notebooks, source files, and pastes of all of these."""

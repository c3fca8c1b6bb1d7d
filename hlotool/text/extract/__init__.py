"""Finds modules inside other texts: logs, web pages, notebooks, source files, pastes of these."""

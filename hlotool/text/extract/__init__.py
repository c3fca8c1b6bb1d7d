"""Finds modules inside other text, such as logs, web pages, notebooks and source files."""

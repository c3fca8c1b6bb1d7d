"""Exact places in the text of a module that is parsed already, for messages and rules about spelling."""

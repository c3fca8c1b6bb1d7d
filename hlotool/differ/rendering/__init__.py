"""Renders a difference for readers: as a sentence, as text, as Markdown and as a web page."""

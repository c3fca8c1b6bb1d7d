"""What people read of a difference: a sentence, text, Markdown, and a page."""

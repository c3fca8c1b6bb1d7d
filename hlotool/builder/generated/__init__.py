"""Methods that `python -m hlotool.dev methods` generates from the op table."""

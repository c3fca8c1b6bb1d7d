"""Text before parsing: files, whitespace, comments, index marks, names of instruction parts."""

"""Tools for text: reading files, whitespace and comments, index marks, and names of parts."""

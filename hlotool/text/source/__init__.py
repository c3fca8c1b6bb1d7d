"""Text utilities: file reading, whitespace and comments, index marks, and part names."""

"""Module to text: the lossless print, XLA's own print, and all options of both."""

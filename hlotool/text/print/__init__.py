"""The printer: the lossless print, XLA's own print, and all options of both."""

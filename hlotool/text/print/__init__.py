"""Printer: lossless output, XLA's own output, and all options for both."""

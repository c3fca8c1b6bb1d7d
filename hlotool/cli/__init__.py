"""The command line.

Translates between arguments, files and exit codes on one side and the package's functions on the
other.
"""

"""The files of a project: reading settings, choosing files, checking them, and writing them back.

The command line and editors share this package. It neither prints nor ends the process: failures
are exceptions derived from `HlotoolError`, or parts of results.
"""

"""The language server: answers requests of editors about HLO files.

`server.py` contains the table of requests.
"""

"""The language server: answers requests of editors about HLO texts.

`server.py` has the table of requests.
"""

"""The language server: answers editors' requests about HLO files.

`server.py` contains the table of requests.
"""

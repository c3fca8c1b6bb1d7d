"""The language server: what editors ask about HLO texts, and the answers. `server.py` is the table of requests."""

"""Spellings of earlier XLA versions, and their translation to today's spellings."""

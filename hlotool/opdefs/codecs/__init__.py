"""The codecs of attribute values: a grammar rule, a builder and a writer for each kind.

`opdefs.table` imports all of them.
"""

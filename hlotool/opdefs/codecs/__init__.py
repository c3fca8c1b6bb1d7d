"""Codecs: for each kind of attribute value its grammar rule, builder and writer. `opdefs.table` loads them all."""

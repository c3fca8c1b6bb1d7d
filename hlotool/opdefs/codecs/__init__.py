"""The codecs of attribute values: for each kind its grammar rule, builder and writer. `opdefs.table` imports all of them."""

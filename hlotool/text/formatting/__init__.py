"""The formatter: XLA's spacing and order of attributes for a text, and a check that nothing else has changed."""

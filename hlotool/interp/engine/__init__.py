"""The reference executor, and the parts that it shares with plans."""

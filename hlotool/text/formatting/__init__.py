"""The formatter: canonical spacing for what the author wrote, with a proof that nothing else has changed."""

"""Old spellings of XLA's earlier versions, and their translation to today's."""

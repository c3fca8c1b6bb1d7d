"""What XLA wrote in other years: old spellings, and how they are written today."""

"""What several checks conclude from the facts, by subject."""

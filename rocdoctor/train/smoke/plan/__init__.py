"""A plan tried in small: which order the ranks get, how deep, and what was measured beside the estimate."""

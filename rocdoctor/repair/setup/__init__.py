"""From facts to an ordered plan: what is done, what is next, and how each step is verified and undone."""

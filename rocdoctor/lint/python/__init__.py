"""Python files and notebooks: an index of what they do, and the rules held against it."""

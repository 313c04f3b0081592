"""A comparison of machines as text, markdown and JSON."""

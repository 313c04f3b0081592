"""A training plan as text, markdown and JSON."""

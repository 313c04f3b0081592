"""A set-up plan as text, markdown and JSON."""

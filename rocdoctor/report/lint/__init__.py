"""Results of the linter as text and markdown."""

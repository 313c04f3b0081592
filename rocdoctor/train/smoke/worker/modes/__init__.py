"""One family of modes a file: ORDER (place in the table) and MODES (its modes)."""

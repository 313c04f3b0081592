"""The terminal screens: a thin skin over the headless core."""

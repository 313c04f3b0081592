"""Measured figures: taking them, what they could be, and which are too low."""

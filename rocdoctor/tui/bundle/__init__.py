"""The screen that writes the bundle."""

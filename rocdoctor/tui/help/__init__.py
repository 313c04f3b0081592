"""The screen of keys and hints."""

"""The screen of smoke tests."""

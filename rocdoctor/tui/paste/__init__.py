"""The screen that diagnoses pasted text."""

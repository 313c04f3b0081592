"""The screen of the set-up plan."""

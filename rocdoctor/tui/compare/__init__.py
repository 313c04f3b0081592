"""The screen that compares this machine with another one, or with an earlier look at it."""

"""The screen of the training plan."""

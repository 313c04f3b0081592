"""The screen of a fleet: which nodes to take out, and why."""

"""The screen of the machine and the one thing to do first."""

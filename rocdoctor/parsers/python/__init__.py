"""What the probe of the interpreter under test prints."""

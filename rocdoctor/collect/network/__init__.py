"""Network cards that training could use."""

"""Short torch programs whose numbers are checked, and their runner."""

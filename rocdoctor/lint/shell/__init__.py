"""Shell scripts: words, assignments, and the options of programs."""

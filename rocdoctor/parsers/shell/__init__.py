"""Shell scripts: words, commands, options, and the variables that they set."""

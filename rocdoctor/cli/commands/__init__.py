"""The commands, one module each: ``run(options)`` returns the exit code."""

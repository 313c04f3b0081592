"""What everything else is written in: facts, evidence, units, commands and changes as values."""

"""What differs between machines, or between two looks at one: facts first, then what the checks found."""

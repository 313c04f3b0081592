"""Bringing a machine into order: the set-up plan, and the fixes of findings."""

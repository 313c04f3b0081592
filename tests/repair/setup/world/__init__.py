"""Machines on which a plan is followed: what was done so far is a state, and a state is a file system of evidence."""

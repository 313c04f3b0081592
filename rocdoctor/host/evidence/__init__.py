"""Machines as files: captures, folders, archives, and what jobs left behind."""

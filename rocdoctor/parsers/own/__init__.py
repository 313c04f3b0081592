"""Formats of rocdoctor's own: profiles, and what the reader of pasted text says."""

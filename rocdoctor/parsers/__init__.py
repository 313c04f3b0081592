"""Parsers: pure functions from the text of one source to typed values; they never raise and never ask."""

"""The only place where a host meets the parsers."""

"""Conclusions from recognised texts: events of the kernel log, messages in pasted text."""

"""Texts that are recognised: error messages, lines of the kernel log, false advice."""

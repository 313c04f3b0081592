"""Masking of secrets and identities, applied to every answer at the host's boundary."""

"""Conclusions about GPUs: presence, access, visibility, health, overrides."""

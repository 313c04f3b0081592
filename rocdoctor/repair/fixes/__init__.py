"""Fixes of findings: which can be applied, applying them with a backup, and taking them back."""

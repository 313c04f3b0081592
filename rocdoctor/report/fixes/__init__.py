"""Fixes as text and JSON."""

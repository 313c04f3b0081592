"""Measurements of speed and memory: ``python -m tools.bench``."""

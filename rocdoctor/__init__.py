"""Diagnose GPU machines for training."""

__version__ = "0.1.0"

"""Verdicts about a fleet as text, JSON and one HTML page."""

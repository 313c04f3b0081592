"""The search over configurations, and the smallest changes when nothing fits."""

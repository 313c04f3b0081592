"""Kernel logs, and what training jobs, launchers and communication libraries print."""

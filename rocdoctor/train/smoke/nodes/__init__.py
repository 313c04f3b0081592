"""Smoke tests over several nodes: they meet, probe the network between them, and run modes on top of torchrun."""

"""Conclusions about training jobs: logs, states, flight recorders, Slurm, smoke tests."""

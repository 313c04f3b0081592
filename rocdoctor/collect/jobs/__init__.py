"""Training jobs: running ones, their logs, smoke tests, and what a text says of them."""

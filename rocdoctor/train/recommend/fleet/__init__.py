"""The GPUs that a plan is made for: described in words, or those of a machine."""

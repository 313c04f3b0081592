"""Training on this machine: planning a run, writing its files, proving that it computes right."""

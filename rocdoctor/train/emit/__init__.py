"""A plan in, files that launchers read out."""

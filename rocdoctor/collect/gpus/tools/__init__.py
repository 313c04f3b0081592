"""GPUs as tools and dumps show them: one tool a file, found by looking into the folder."""

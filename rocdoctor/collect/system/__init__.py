"""The system around the GPUs: processors, memory, kernel, distribution, container, user."""

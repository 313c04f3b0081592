"""The system around the GPUs: processors, memory, network, processes, distribution, packages."""

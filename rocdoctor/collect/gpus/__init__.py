"""GPUs: the records of each source, and how they become one list of devices."""

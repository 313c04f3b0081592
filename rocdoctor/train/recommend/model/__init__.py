"""The model and the work: specifications, shapes, and how the work is divided."""

"""Memory of a training step: tensors, activations, and whether it all fits."""

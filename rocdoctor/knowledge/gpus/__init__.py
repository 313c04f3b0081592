"""What is known of GPU models and targets."""

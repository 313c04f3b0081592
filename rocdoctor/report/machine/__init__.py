"""A machine as a summary, as JSON, and as the readable part of a bundle."""

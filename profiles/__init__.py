"""GPU families and model presets (YAML, each figure with its source)."""

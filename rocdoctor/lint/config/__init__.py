"""YAML, JSON and TOML files: manifests, containers, trees with line numbers."""

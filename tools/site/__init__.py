"""The documentation site, made from ``docs/`` by mkdocs with the theme mkdocs-material."""

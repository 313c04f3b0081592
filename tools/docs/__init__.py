"""Pages and pictures of the documentation that are made from checks, tables and screens."""

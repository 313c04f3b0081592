"""One file a check; the folder is loaded, nothing here is imported by name."""

"""Tables that ship with rocdoctor (YAML, each figure with its source) and their lazy loaders."""

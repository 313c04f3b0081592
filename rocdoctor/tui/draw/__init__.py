"""Pictures of a machine as lines of text: pure functions over facts, for any width."""

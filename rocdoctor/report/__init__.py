"""Reports: text, JSON, markdown, JUnit."""

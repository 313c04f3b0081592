"""A diagnosis as text, markdown, JSON, JUnit and SARIF."""

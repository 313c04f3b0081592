"""Results of smoke tests as text, JSON and JUnit."""

"""Sentences that people write: words, phrases with a meaning, and what is said to work or to fail under a condition."""

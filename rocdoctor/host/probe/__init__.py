"""Programs of the standard library alone that run inside the interpreter under test."""

"""False or stale advice that files follow."""

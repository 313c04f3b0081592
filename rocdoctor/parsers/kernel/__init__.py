"""What the kernel and its GPU drivers show under /sys and /proc."""

"""The output of NVIDIA's tools and kernel module."""

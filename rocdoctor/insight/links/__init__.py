"""Conclusions about links: PCIe paths, the fabric between GPUs, network interfaces."""

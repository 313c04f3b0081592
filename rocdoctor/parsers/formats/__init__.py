"""Formats that several sources share: JSON, YAML, XML, sets of CPUs, plain values."""

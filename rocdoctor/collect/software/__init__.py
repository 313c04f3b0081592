"""Installations of ROCm and CUDA, packages, and the interpreter under test."""

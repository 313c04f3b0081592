"""Conclusions about software: the torch stack, ROCm installations, variables, module options."""

"""Listings of hardware, software and cluster nodes: lspci, lstopo, RCCL topologies, Slurm."""

"""The screen of the topology: NUMA nodes, PCIe tree, links between GPUs."""

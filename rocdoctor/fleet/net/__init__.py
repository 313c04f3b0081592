"""Which node, leaf switch or pair of nodes slows a network down, from rounds of pairs."""

"""From what ranks left behind to a verdict: which rank, which layer, why."""

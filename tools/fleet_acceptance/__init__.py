"""The ten acceptance figures of ``rocdoctor fleet``, so that a stranger can repeat them."""

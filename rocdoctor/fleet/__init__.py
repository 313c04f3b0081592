"""Many nodes: the record that each makes of itself, and what is concluded from all of them."""

"""Running modes on ranks: requests, pools of processes, launchers, and their end."""

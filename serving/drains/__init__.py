"""What to do about a link that may fail: advice, leases that hold the network's capacity, and what came of it."""

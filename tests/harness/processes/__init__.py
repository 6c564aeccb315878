"""Processes, terminals, servers and browsers that a test starts, cuts off and kills."""

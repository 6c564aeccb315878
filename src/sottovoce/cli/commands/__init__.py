"""One module a command: what it asks, what it does, what it says."""

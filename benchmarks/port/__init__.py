"""Many peers at one coordinator."""

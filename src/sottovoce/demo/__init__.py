"""The first five minutes."""

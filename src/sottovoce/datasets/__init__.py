"""Data to try things on: the paper's table, and synthetic clinical notes."""

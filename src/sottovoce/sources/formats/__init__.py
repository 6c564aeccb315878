"""Readers of the formats of a source: one module for each."""

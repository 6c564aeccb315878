"""Conversations of one protocol: its blocks, their ideals, records on file, and what was opened."""

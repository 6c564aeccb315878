"""Runs studies between machines: the coordinator that serves them, and the sites that join them."""

"""Conversations in which nobody sees what anybody else holds."""

"""Attacks of an observer on the messages that it saw."""

"""Encoders from folders and installed packages: opened offline, named by their hash."""

from sottovoce.encoders.opening import find_encoder, open_encoder, ready

__all__ = ["find_encoder", "open_encoder", "ready"]

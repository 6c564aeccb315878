"""Encoders from folders and installed packages: opened offline, named by their hash."""

from sottovoce.encoders.opening import find_encoder, open_encoder, ready, ready_once

__all__ = ["find_encoder", "open_encoder", "ready", "ready_once"]

"""Data to try things on: the paper's table, and synthetic clinical notes."""

from sottovoce.datasets.ionosphere import Ionosphere, Table, load_ionosphere

__all__ = ["Ionosphere", "Table", "load_ionosphere"]

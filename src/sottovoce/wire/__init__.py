"""Strict bytes: one encoding per value."""

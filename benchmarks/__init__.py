"""Comparisons: ours beside a named partner, in one run."""

"""Gradient descent on encrypted rados, on a public schedule, seen by nobody."""

"""Additively homomorphic encryption, packed and hard to misuse."""

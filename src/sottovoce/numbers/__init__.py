"""Integers with bounds: modular, fixed point, slots, residues, and the ring of 64-bit words."""

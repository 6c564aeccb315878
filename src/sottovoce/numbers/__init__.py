"""Numbers that know their range: modular, fixed point, slots, and the ring of 64-bit words."""

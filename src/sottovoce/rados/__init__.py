"""Rademacher observations, their moments, and what is learnt from them."""

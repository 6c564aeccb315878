"""A study between machines: who serves it, who joins it, and what each keeps on disk."""

"""Joint evaluations over all peers' held-out documents, from sums alone."""

"""Engine `shares`: two holders of additive shares mod 2^64 and a dealer who sees nothing."""

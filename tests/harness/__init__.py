"""What tests share: seeded entropy, small keys, a fake wire."""

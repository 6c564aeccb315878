"""Two-party protocols: an evaluator computes on ciphertexts, a key holder answers it."""

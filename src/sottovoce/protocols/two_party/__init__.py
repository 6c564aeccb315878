"""The evaluator computes on ciphertexts, the key holder answers masked questions."""

"""Engine paillier: learners on ciphertexts, intermediaries, and studies of one owner."""

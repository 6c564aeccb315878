"""Engine paillier: learners on ciphertexts, and who builds, adds up, or lends its work for them."""

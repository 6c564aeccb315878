"""Single computations beside a partner: Paillier, blocks, sums, products, one solve."""

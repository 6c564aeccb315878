"""Engine `quorum`: n members compute on Shamir shares, and no t of them learn anything.

members.py      who computes, how many may pool, points and interpolation
sharing.py      splitting a value, and putting shares together with a check
opening.py      members to the opener and back
dealing.py      one-time numbers of t + 1 members
truncation.py   product and truncation in one opening
products.py     exact products
comparison.py   [y ≥ 0] from masks with shared bits
sums.py         contributions of all peers, added up and checked
solve.py        (A + Γ)θ = b
labels.py       the label of a shared row
"""

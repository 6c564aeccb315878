"""Studies under random faults, and what must hold whatever happens.

The invariants, in prose:

1. *No two different messages under one number.* Whatever crashes, a seat never posts two
   different letters under the same session, recipient and number.
2. *Nothing is counted twice or lost.* The model is the one of a set of peers that the
   coordinator names: every one of them is in it exactly once, and nobody else is.
3. *Nobody is dropped without a reason.* If nobody left, withdrew or was too late for a
   deadline, everybody is in the model.
4. *One-time material is used once.* The seed of a session is drawn once for each seat, is the
   same after every restart, and no two sessions or seats have the same. A mask never covers
   two messages. No program ever reports that something would have been used twice.
5. *One end for all.* Every honest participant ends with the same model, or with the same named
   failure, or (a peer that was late) knows that it was left out, as the coordinator says.
6. *Nothing after consent was withdrawn.* A seat that withdrew posts nothing more, but for the
   word that it did.
7. *Nobody waits forever.* Once deadlines have passed, everybody who is alive has come to an end.

`invariants.py` holds a check for each, under its number; `world.py` the faults.

A seed that fails is repeated, with everything that happened, by

    PYTHONPATH=tests .venv/bin/python -m simulation toy 17
"""

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
   failure, or (a peer that was late, or made no request while time went on) knows that it was
   left out, as the coordinator says.
6. *Nothing after consent was withdrawn.* A seat that withdrew posts nothing more, but for the
   word that it did.
7. *Nobody waits forever.* Once deadlines have passed, everybody who is alive has come to an end.
8. *No mask ever covers two values.* A disk may come back from a backup, a copy of it may run
   beside the original, the coordinator's own disk and mailbox may come back, and the documents
   may be others by then: of all that ever left a seat and was made from one stream of one-time
   material, there are never two different values at one place.

After the training the same seats are asked, by people who ask again what was not answered, or
seldom something else:

9. *A query is charged exactly once, or not at all.* What a peer was charged is what the
   coordinator made the last message of; the same question, asked again after a crash, is not
   charged again.
10. *Labels equal the ideal.* Whatever people were served, labels or joint figures, is what a
    trusted friend would have said.
11. *An evaluation is opened once.* In one attempt, and all evaluations over the same peers.
12. *Nobody waits for ever without naming whom.* Everybody was served, or refused with a reason,
    or told who kept it waiting; no program and no open query is left where somebody waits.

The first and the eighth hold there, too.

`invariants.py` and `query_invariants.py` hold a check for each, under its number; `world.py` and
`serving_world.py` the faults, `copies.py` those of disks that come back or run twice.

A seed that fails is repeated, with everything that happened, by

    PYTHONPATH=tests .venv/bin/python -m simulation toy 17
"""

"""Labels and evaluations after the training: who asks, who helps, who is charged, when it ends.

    coordinator   answering (a query of each asker), evaluations: together `coordinator`
    every seat    asking, evaluating, helping: together `seat`

Each is a state machine with a table of its own. Conversations are named, not numbered by session:
a `QueryId` or an `EvaluationId`; a carrier knows which session that is, and which program.
"""

"""Deciders for queries and evaluations: who asks, who helps, what is charged, when it ends.

    coordinator   answering (a query of each asker), evaluations: together `coordinator`
    every seat    asking, evaluating, helping: together `seat`

Each is a state machine with its own table. A `QueryId` or an `EvaluationId` names a conversation; a
carrier knows its session and its program.
"""

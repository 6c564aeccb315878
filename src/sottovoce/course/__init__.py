"""Who takes part, what begins, who is gone, what is charged, when to stop: pure state machines.

A decider is a frozen state and one function `step(state, happened, *, now)` that returns the next
state and what has to be done. It opens no file, reads no clock and waits for nobody. Carriers
(memory, the fault simulator of the tests, the network) bring it what happened and do what it says:

1. The state's `record`, the letters that a step tells and what it keeps go to disk in one piece,
   before anything else of the step is done and before anybody hears of it.
2. The other actions are done in their order. None of them has to survive a crash: a process that
   starts again says `Started`, and is told everything that is still to be done.
"""

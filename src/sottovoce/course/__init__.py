"""Pure state machines that decide who takes part, what begins, what is charged and when to stop.

A decider is a frozen state and one function `step(state, happened, *, now)` that returns the next
state and a list of actions. It opens no file, reads no clock and waits for nobody. Carriers
(memory, the fault simulator of the tests, the network) bring it inputs and perform its actions:

1. The state's `record`, the letters of a step and what it keeps go to disk in one transaction,
   before any other action of the step and before anybody hears of it.
2. The other actions are performed in order. None of them has to survive a crash: a process that
   starts again sends `Started`, and gets every action that is still due.
"""

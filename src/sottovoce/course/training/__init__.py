"""The course of a training: who takes part, what begins, who is gone, when to stop."""

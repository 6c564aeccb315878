"""The central-coordinator learner (the paper's Protocol 2): ridge regression on sealed moments."""

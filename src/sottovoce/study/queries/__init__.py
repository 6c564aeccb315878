"""Labels and evaluations: the programs of asker, coordinator and helpers after the training."""

"""Labels and evaluations: what asker, coordinator and helpers do once there is a model."""

"""The stages of a study: every party's programs, from the agreement to the model."""

"""The programs of every party from the agreement to the model."""

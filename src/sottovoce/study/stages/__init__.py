"""What each party does from the agreement to the model."""

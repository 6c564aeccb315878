"""What annotation tools write: BRAT's pairs, and the JSON of Label Studio, Prodigy and doccano."""

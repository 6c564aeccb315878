"""Files of annotation tools: BRAT's pairs, and the JSON of Label Studio, Prodigy and doccano."""

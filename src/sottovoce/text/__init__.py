"""From a document to a sparse row of features, the same on every machine."""

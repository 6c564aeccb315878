"""The features of a study: how they are counted, selected, named and looked up."""

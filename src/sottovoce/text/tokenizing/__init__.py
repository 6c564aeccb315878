"""From a text to its tokens, sentences and contexts, the same on every machine."""

"""Pages for people: the card and the report as HTML with pictures, made of facts, without I/O."""

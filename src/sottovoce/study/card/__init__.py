"""The study card, one module a section: facts as data first, then their words."""

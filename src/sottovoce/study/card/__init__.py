"""The study card, one module for each section: first facts as data, then sentences about them."""

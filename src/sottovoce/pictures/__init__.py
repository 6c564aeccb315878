"""HTML and SVG as nested calls: pages and pictures that need no script, font or network."""

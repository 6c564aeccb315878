"""Every site's own text, read where it lies."""

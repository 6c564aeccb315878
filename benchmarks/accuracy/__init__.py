"""How accurate studies are, beside pooled text and each site alone."""

"""The coordinator's HTTPS port: connections, limits, and what each request does."""

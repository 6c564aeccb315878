"""The HTTPS port of a study: a durable mailbox, its server, and the client that connects to it."""

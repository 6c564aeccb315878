"""The coordinator's mailbox of a study, in SQLite or PostgreSQL."""

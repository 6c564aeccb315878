"""What an observer could do with what it saw."""

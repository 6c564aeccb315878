"""The paper as printed, and what only its table needs."""

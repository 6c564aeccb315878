"""Labels from shared scores: scores of rows that only the asker knows, and verdicts on them."""

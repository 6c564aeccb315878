"""Whole studies, and the text that goes into them, beside a partner."""

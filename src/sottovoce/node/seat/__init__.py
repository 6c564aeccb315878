"""One seat at work: programs that survive a crash, audited letters, lines that come back."""

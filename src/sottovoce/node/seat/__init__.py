"""The runtime of one seat: programs that survive a crash, audited letters, retried connections."""

"""The coordinator's machine: it serves studies, carries letters and keeps deadlines."""

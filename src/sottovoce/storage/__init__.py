"""Every format on disk: journal, sealed SQLite, sealed files, keys, pending queries."""

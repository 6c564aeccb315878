"""Keys on disk, sealed under a passphrase."""

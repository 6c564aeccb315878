"""Web pages on this machine that show and do what the commands show and do."""

"""A web page at this machine for the person who sits at it: what the commands show and do."""

"""Sources in parts, which other processes and machines read by themselves."""

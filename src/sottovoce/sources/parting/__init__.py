"""Sources in parts that other processes and machines read independently."""

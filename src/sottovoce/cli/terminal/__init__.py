"""What people see on the terminal: every line is escaped, and scripts get JSON."""

"""What a Mac is: chips, memory rule, macOS releases. Data and pure functions; no torch."""

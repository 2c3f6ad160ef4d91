"""IR of one thread in, IR of 32 lanes in lock-step out."""

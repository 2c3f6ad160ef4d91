"""PTX, between the compiler that wrote it and the one that reads it."""

"""IR of one thread made of scalars alone: vectors, structs and copies taken apart."""

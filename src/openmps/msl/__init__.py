"""Metal source text in, C++ text and a table of kernels out. Pure functions: no torch, no files."""

"""C++, LLVM and PTX text for kernels. Pure functions: no compiler, no files, no torch."""

"""C++ and LLVM text for kernels. Pure functions: no compiler, no files, no torch."""

"""Other projects' Metal kernels, compiled and run: see scripts/metal-corpus. Holds none of them."""

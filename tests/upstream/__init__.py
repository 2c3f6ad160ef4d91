"""PyTorch's own tests, run on our device: see scripts/upstream. Holds nothing of them."""

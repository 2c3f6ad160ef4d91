"""PyTorch's own test_mps.py, run on our device: see scripts/upstream. Holds nothing of it."""

"""Suites of projects that stand on PyTorch, run on the CPU and on mps and compared."""

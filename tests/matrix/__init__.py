"""The suite with every release of torch and of Python: scripts/matrix."""

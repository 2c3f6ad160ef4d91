"""How many threads of a simdgroup move together."""

WIDTH = 32

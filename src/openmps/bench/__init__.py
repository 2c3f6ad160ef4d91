"""What `openmps bench` measures, how, and how it is drawn. `bench/` measures with the same."""

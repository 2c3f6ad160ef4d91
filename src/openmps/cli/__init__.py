"""The `openmps` command. Nothing imports this package."""

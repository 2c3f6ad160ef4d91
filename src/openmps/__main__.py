"""`python -m openmps`: the command line, where the `openmps` script is not on PATH."""

from openmps.cli.main import main

main()

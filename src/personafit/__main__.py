"""`python -m personafit` is the same as the `personafit` command."""

from personafit.cli import main

main()

"""``python -m gsg`` is the command gsg."""

from .cli import main

main(prog_name="gsg")

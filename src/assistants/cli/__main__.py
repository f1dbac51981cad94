"""`python -m assistants.cli` is the `signalbox` command."""

from assistants.cli.main import run

run()

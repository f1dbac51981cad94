"""The graphs of the deployment, as `langgraph.json` declares them."""

from __future__ import annotations

GRAPHS: tuple[str, ...] = ("react",)
"""Graph ids that an assistant's file may name; a test compares them with `langgraph.json`."""

"""The telemetry of this process, made from its environment before it serves anything.

Making it reads files and starts the exporter's thread, which is why it happens at import and never in a run.
"""

from __future__ import annotations

from agent.telemetry.destination import provider
from agent.telemetry.telemetry import Telemetry

telemetry = Telemetry(provider())
"""Attached to the graphs that are served; closed with `telemetry.close()`."""

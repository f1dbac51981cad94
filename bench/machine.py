"""The machine that measured, in general words: no names, no paths."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

_STACK = ("langgraph", "langchain", "langgraph-checkpoint-postgres")


def machine() -> dict[str, Any]:
    """Cores, architecture, memory in GB, system, versions, and how many processes wanted a core before."""
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "memory_gb": _memory(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in _STACK},
        "load_before": round(os.getloadavg()[0], 1),
    }


def sentence(facts: dict[str, Any]) -> str:
    """`machine()` as a line of prose."""
    stack = ", ".join(f"{name} {facts[name]}" for name in _STACK)
    busy = facts["load_before"] > facts["cores"]
    return (
        f"{facts['cores']} cores ({facts['architecture']}), {facts['memory_gb']} GB, {facts['system']}, "
        f"Python {facts['python']}, {stack}; {facts['load_before']} processes wanted a core when it began"
        f"{', so it was busy with other work and times are rough' if busy else ''}"
    )


def _memory() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)

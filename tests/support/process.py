"""Processes as the kernel lists them."""

from __future__ import annotations

from pathlib import Path


def family(pid: int) -> list[int]:
    """The pids of all descendants of a process."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except FileNotFoundError:
        return []
    children = [int(child) for child in text.split()]
    return children + [member for child in children for member in family(child)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def commands(pid: int) -> list[str]:
    """The command lines of all descendants of a process, their words separated by NUL."""
    return [Path(f"/proc/{child}/cmdline").read_text() for child in family(pid)]

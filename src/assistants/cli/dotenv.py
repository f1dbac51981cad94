"""The project's `.env`: made from `.env.example` at the first start, with secrets of its own."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from dotenv import dotenv_values

_GENERATED = ("SIGNALBOX_JWT_SECRET", "SIGNALBOX_SERVER_SECRET")


def ensure(project: Path) -> bool:
    """Write `.env` from `.env.example`, each empty secret filled with random characters.

    Returns:
        Whether the file was written; an existing one is never touched.
    """
    target = project / ".env"
    if target.exists():
        return False
    lines = (project / ".env.example").read_text(encoding="utf-8").splitlines()
    filled = [f"{line}{secrets.token_urlsafe(48)}" if _empty_secret(line) else line for line in lines]
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(filled) + "\n")
    return True


def load(project: Path) -> dict[str, str]:
    """The environment with `.env` under it: a variable of the shell wins, an empty line sets nothing."""
    file = dotenv_values(project / ".env") if (project / ".env").is_file() else {}
    return {**{key: value for key, value in file.items() if value}, **os.environ}


def _empty_secret(line: str) -> bool:
    name, separator, value = line.partition("=")
    return bool(separator) and name.strip() in _GENERATED and not value.strip()

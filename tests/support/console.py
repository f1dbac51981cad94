"""Console blocks of the documentation: parsed, and compared with what the commands really print.

A block is fenced as `console`. A line that begins with `$ ` is a command, the lines below it are what it
prints: `…` stands for any text within a line, a line that is only `…` for any number of lines, and a last
line such as `[1]` for the exit code (0 without it).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class Command:
    """A command of a document, the lines that it should print, and its exit code."""

    text: str
    expected: tuple[str, ...]
    code: int


def blocks(document: Path) -> list[tuple[str, str]]:
    """Language and content of every fenced block."""
    return [(match[1], match[2]) for match in _BLOCK.finditer(document.read_text(encoding="utf-8"))]


def commands(document: Path) -> list[Command]:
    """Every command of a document, in its order."""
    found: list[Command] = []
    for language, content in blocks(document):
        if language == "console":
            found += [_command(part) for part in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]]
    return found


def _command(part: str) -> Command:
    text, *lines = part.rstrip("\n").split("\n")
    code = _CODE.fullmatch(lines[-1]) if lines else None
    return Command(text, tuple(lines[:-1] if code else lines), int(code[1]) if code else 0)


def matches(expected: tuple[str, ...], printed: str) -> bool:
    """Whether what was printed is what the document shows."""
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line == "…" else ".*".join(re.escape(piece) for piece in line.split("…")) + r"\n"
        for line in expected
    )
    return (
        re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n")
        is not None
    )

"""The table in `docs/mutants.md`: which guard was disabled, and which test noticed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tests.mutants.mutant import PROMISES
from tests.mutants.trial import Outcome

FILE = "docs/mutants.md"
"""Where the table is kept."""

_HEAD = """# Mutants

Written by `make mutants`: each guard of the harness and the door is disabled in a copy of the project, one at
a time, and the tests that are named for it in `tests/mutants/` run against the copy. A guard whose absence no
test notices makes the command fail. "Invariant" is the number in the list below.

"""
_ROW = re.compile(r"^\| (?!Guard|---)(.*?) \| \d \|", re.MULTILINE)


def rendered(outcomes: Sequence[Outcome]) -> str:
    """The document."""
    promises = "\n".join(f"{number}. {words}" for number, words in PROMISES.items())
    killed = sum(outcome.killed for outcome in outcomes)
    rows = "\n".join(_row(outcome) for outcome in outcomes)
    head = "| Guard | Invariant | Disabled by | Red test | Killed |\n|---|---|---|---|---|"
    return f"{_HEAD}{promises}\n\n{killed} of {len(outcomes)} mutants are killed.\n\n{head}\n{rows}\n"


def guards(document: str) -> list[str]:
    """The guards that a document's table names, in its order."""
    return [_plain(name) for name in _ROW.findall(document)]


def _row(outcome: Outcome) -> str:
    mutant = outcome.mutant
    cells: Iterable[str] = (
        _cell(mutant.guard),
        str(mutant.invariant),
        f"`{mutant.file}`: {_change(mutant.old, mutant.new)}",
        f"`{outcome.red}`" if outcome.red else "none",
        "yes" if outcome.killed else "**no**",
    )
    return f"| {' | '.join(cells)} |"


def _change(old: str, new: str) -> str:
    """What was there, and what is there instead, as far as they differ, on one line."""
    return f"{_code(old)} → {_code(new)}" if new else f"{_code(old)} removed"


def _code(text: str) -> str:
    line = " ".join(text.split())
    return f"`{_cell(line)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    return text.replace("\\|", "|")

"""One mutant: a guard, and how it is disabled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Invariant = Literal[1, 2, 3, 4, 5, 6]

PROMISES: dict[Invariant, str] = {
    1: "no tenant reaches another",
    2: "no tool without whitelist and approval",
    3: "every history is valid",
    4: "an effect at most once",
    5: "an approval counts for what asked",
    6: "no spend beyond the budget",
}
"""The design's invariants, in a few words each."""


class NotOnce(Exception):
    """The text that a mutant replaces does not stand exactly once in its file."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A guard that is disabled.

    Attributes:
        guard: What the guard does, in a few words; names the mutant.
        invariant: Which one it keeps.
        file: The file, from the project's folder.
        old: The text that is replaced; it stands there exactly once.
        new: What stands there instead.
        tests: Node ids of the tests of which one must turn red; a parametrised test without its parameters.
    """

    guard: str
    invariant: Invariant
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The file's text with the guard disabled.

        Raises:
            NotOnce: The text to replace is not there, or there several times.
        """
        found = text.count(self.old)
        if found != 1:
            raise NotOnce(
                f"{self.guard!r}: {self.old!r} stands {found} times in {self.file}; expected once. Write the "
                "mutant anew, so that it disables its guard again."
            )
        return text.replace(self.old, self.new)

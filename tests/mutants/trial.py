"""The trial of a mutant: its tests run in a copy with the guard disabled, and one of them must turn red."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.mutants.mutant import Mutant
from tests.mutants.tree import Tree

_FAILED = re.compile(r"^FAILED ([^\s\[]+)", re.MULTILINE)
_ERROR = re.compile(r"^ERROR \S", re.MULTILINE)  # a line of a log has more blanks
_SECONDS = 180.0
_ALL_SECONDS = 600.0
_PYTEST = ("-m", "pytest", "-x", "-q", "--tb=short")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: `red` is the test that failed, `output` what pytest said where none did."""

    mutant: Mutant
    red: str | None
    output: str = ""

    @property
    def killed(self) -> bool:
        """Whether a test noticed that the guard was gone."""
        return self.red is not None


def red(code: int, output: str) -> str | None:
    """The test that failed, by pytest's exit code and output; an error of another kind is no failed test."""
    failed = _FAILED.search(output)
    if code != 1 or failed is None or _ERROR.search(output):
        return None
    return failed[1]


async def attempt(tree: Tree, mutant: Mutant) -> Outcome:
    """Run a mutant's tests against it.

    Raises:
        NotOnce: The mutant does not fit the source any more.
    """
    with tree.mutated(mutant):
        try:
            code, output = await tree.python(*_PYTEST, *mutant.tests, seconds=_SECONDS)
        except TimeoutError:
            return Outcome(mutant, None, f"the tests did not end within {_SECONDS:g} s")
    found = red(code, output)
    return Outcome(mutant, found, "" if found else output)


async def healthy(trees: Sequence[Tree], mutants: Iterable[Mutant]) -> str | None:
    """What pytest says where a test that a mutant names is red, or missing, without any mutant.

    Args:
        trees: Copies among which the tests are divided.
        mutants: Whose tests.
    """
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    shares = [(tree, tests[place :: len(trees)]) for place, tree in enumerate(trees)]
    runs = [tree.python(*_PYTEST, *share, seconds=_ALL_SECONDS) for tree, share in shares if share]
    sick = [output for code, output in await asyncio.gather(*runs) if code != 0]
    return "\n".join(sick) or None

"""`make mutants`: try every mutant, two at a time, and write the table. Words choose mutants by their guard.

With words nothing is written. Exit code 1: a mutant survived, or a test is red without any.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant, NotOnce
from tests.mutants.table import FILE, rendered
from tests.mutants.tree import Tree, copied
from tests.mutants.trial import Outcome, attempt, healthy
from tests.support.server import PROJECT

_AT_ONCE = 2


async def tried(mutants: Sequence[Mutant], folder: Path, console: Console) -> list[Outcome]:
    """What became of each mutant, in their order.

    Raises:
        SystemExit: A mutant does not fit the source, or a test that it names is red without any mutant.
    """
    copies = [await copied(folder / str(number)) for number in range(_AT_ONCE)]
    misfits = [misfit for mutant in mutants if (misfit := _misfit(mutant))]
    if misfits:
        raise SystemExit("\n".join(misfits))
    sick = await healthy(copies, mutants)
    if sick is not None:
        console.print(sick, markup=False, highlight=False)
        raise SystemExit("A test that a mutant names is not green, or not there; nothing was tried.")
    trees: asyncio.Queue[Tree] = asyncio.Queue()
    for tree in copies:
        trees.put_nowait(tree)

    async def one(mutant: Mutant) -> Outcome:
        tree = await trees.get()
        began = time.monotonic()
        try:
            outcome = await attempt(tree, mutant)
        finally:
            trees.put_nowait(tree)
        word = "killed  " if outcome.killed else "SURVIVED"
        spent = time.monotonic() - began
        console.print(f"{word} {spent:5.1f} s  {mutant.guard}  {outcome.red or ''}", highlight=False)
        return outcome

    return await asyncio.gather(*(one(mutant) for mutant in mutants))


def _misfit(mutant: Mutant) -> str | None:
    try:
        mutant.applied((PROJECT / mutant.file).read_text())
    except NotOnce as wrong:
        return str(wrong)
    return None


async def main(words: Sequence[str]) -> int:
    """The exit code."""
    console = Console(soft_wrap=True)
    mutants = [one for one in MUTANTS if not words or any(word in one.guard for word in words)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="signalbox-mutants-") as folder:
        outcomes = await tried(mutants, Path(folder), console)
    if not words:
        (PROJECT / FILE).write_text(rendered(outcomes))
    survivors = [outcome for outcome in outcomes if not outcome.killed]
    for outcome in survivors:
        console.print(f"\n{outcome.mutant.guard}:\n{outcome.output[-3000:]}", markup=False, highlight=False)
    spent = (time.monotonic() - began) / 60
    console.print(f"{len(outcomes) - len(survivors)} of {len(outcomes)} killed in {spent:.1f} minutes")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main(sys.argv[1:])))

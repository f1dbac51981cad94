"""A copy of the project in which a guard can be disabled while nobody else sees it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import Mutant
from tests.support.server import PROJECT

_PACKAGES = ("agent", "assistants", "tests")


class NotTheCopy(Exception):
    """What is imported is not the copy, so a mutant would change nothing."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of the project below `root`."""

    root: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment in which this interpreter imports the copy."""
        path = os.pathsep.join([str(self.root / "src"), str(self.root)])
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        return {**kept, "PYTHONPATH": path}

    async def python(self, *arguments: str, seconds: float) -> tuple[int, str]:
        """Exit code and output of this interpreter in the copy.

        Raises:
            TimeoutError: It did not end in time.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments),
            cwd=self.root,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(seconds):
                output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.communicate()
        return process.returncode or 0, output.decode(errors="replace")

    async def check(self) -> None:
        """Make sure that the copy is what is imported, also by a process that is started in it.

        Raises:
            NotTheCopy: It is not.
        """
        script = f"import {', '.join(_PACKAGES)}; print(*({', '.join(f'{p}.__file__' for p in _PACKAGES)},))"
        code, output = await self.python("-c", script, seconds=60)
        files = [Path(file) for file in output.split()] if code == 0 else []
        if len(files) != len(_PACKAGES) or not all(file.is_relative_to(self.root) for file in files):
            raise NotTheCopy(f"expected {', '.join(_PACKAGES)} of the copy to be imported; got {output!r}")

    @contextmanager
    def mutated(self, mutant: Mutant) -> Generator[None]:
        """The copy with one guard disabled.

        Raises:
            NotOnce: The mutant does not fit the source any more.
        """
        file = self.root / mutant.file
        whole, times = file.read_text(), file.stat()
        file.write_text(mutant.applied(whole))
        try:
            yield
        finally:
            file.write_text(whole)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # what is compiled of it counts again


async def copied(root: Path) -> Tree:
    """The project as it is on disk, uncommitted changes included and ignored files left out, below `root`.

    Raises:
        NotTheCopy: The copy is not what is imported there.
    """
    listing = await asyncio.create_subprocess_exec(
        *("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=PROJECT,
        stdout=asyncio.subprocess.PIPE,
    )
    names, _ = await listing.communicate()
    for name in filter(None, names.decode().split("\0")):
        source, target = PROJECT / name, root / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    tree = Tree(root)
    await tree.check()
    return tree

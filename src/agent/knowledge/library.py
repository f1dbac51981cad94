"""The library: each tenant's handbook in the catalog directory, read when asked and kept while unchanged."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agent.errors import AgentError
from agent.knowledge.ranking import Hit, Ranking
from agent.knowledge.sections import split

LARGEST: Final = 1_000_000
"""The largest document that is read, in bytes."""

_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_PACKAGE: Final = "assistants"  # whose files are the shipped catalog; found, never imported

Fingerprint = tuple[tuple[str, int, int], ...]


class HandbookRefused(AgentError):
    """A handbook cannot be read as it lies there."""

    code = "handbook_refused"


@dataclass(frozen=True, slots=True)
class _Shelf:
    fingerprint: Fingerprint
    ranking: Ranking


def catalog_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The catalog: `SIGNALBOX_CATALOG`, or else the one that is shipped with the installation.

    Raises:
        HandbookRefused: None is named and none is installed.
    """
    given = environment.get("SIGNALBOX_CATALOG")
    if given:
        return Path(given)
    package = find_spec(_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise HandbookRefused("There is no catalog: name its directory in SIGNALBOX_CATALOG.")
    return Path(package.submodule_search_locations[0]) / "catalog"


class Library:
    """Handbooks by tenant: the Markdown files of `<catalog>/tenants/<slug>/handbook/`.

    A handbook is indexed when it is first asked and again when a file's name, size or time of change differs.

    Args:
        catalog: The directory; by default the one that the environment names when it is first asked.
    """

    def __init__(self, catalog: Path | None = None) -> None:
        self._catalog = catalog
        self._shelves: dict[str, _Shelf] = {}

    async def search(self, question: str, *, tenant: str, limit: int = 3) -> tuple[Hit, ...]:
        """The best sections of the tenant's own handbook, best first; empty when none is about the question.

        A tenant without a handbook has no hits.

        Raises:
            HandbookRefused: The tenant's name is no slug, a file is a link, too large or not UTF-8.
        """
        return await asyncio.to_thread(self._search, question, tenant, limit)

    def _search(self, question: str, tenant: str, limit: int) -> tuple[Hit, ...]:
        folder = self._folder(tenant)
        fingerprint = _fingerprint(folder)
        shelf = self._shelves.get(tenant)
        if shelf is None or shelf.fingerprint != fingerprint:
            documents = [(name, _read(folder / name)) for name, _size, _changed in fingerprint]
            sections = [section for name, text in documents for section in split(name, text)]
            shelf = _Shelf(fingerprint, Ranking(sections))
            self._shelves[tenant] = shelf
        return shelf.ranking.search(question, limit=limit)

    def _folder(self, tenant: str) -> Path:
        if not _SLUG.fullmatch(tenant):
            raise HandbookRefused(
                f"Tenant {tenant!r} is no slug; expected lower-case letters, digits and hyphens."
            )
        folder = self._catalog or catalog_directory()
        for part in ("tenants", tenant, "handbook"):
            folder /= part
            if folder.is_symlink():
                raise HandbookRefused(f"Folder {part!r} on the way to a handbook is a link; put it in place.")
        return folder


def _fingerprint(folder: Path) -> Fingerprint:
    if not folder.is_dir():
        return ()
    found: list[tuple[str, int, int]] = []
    for path in sorted(folder.glob("*.md")):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise HandbookRefused(
                f"Document {path.name!r} is a link or no plain file; put the file in place."
            )
        if status.st_size > LARGEST:
            raise HandbookRefused(
                f"Document {path.name!r} has {status.st_size} bytes; expected at most {LARGEST}, so split it."
            )
        found.append((path.name, status.st_size, status.st_mtime_ns))
    return tuple(found)


def _read(path: Path) -> str:
    # The file may have been swapped since it was looked at: what was a file then must not be a link now.
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, encoding="utf-8") as file:
            return file.read(LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise HandbookRefused(
            f"Document {path.name!r} cannot be read as UTF-8 text; check the file."
        ) from error

"""The directory of a catalog: which files it holds, and their text.

Nothing outside the directory is ever opened. The files are listed first, symbolic links are refused and not
followed, and a path that a file names is compared with that list instead of being handed to the system.
Names that begin with a dot are ignored.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Final

from assistants.errors import Problem
from assistants.loading.node import Place
from assistants.loading.suggestion import closest
from assistants.loading.wording import shown

VARIABLE: Final = "SIGNALBOX_CATALOG"
"""The environment variable that names the catalog's directory."""

LARGEST: Final = 256 * 1024
"""The largest file that is read, in bytes."""

# No link is followed and no pipe is waited for, whatever has happened to the file since it was listed.
_FLAGS: Final = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def catalog_root(named: Path | None = None) -> Path:
    """The catalog's directory: the one that is named (by `SIGNALBOX_CATALOG`), else the shipped catalog."""
    return named if named is not None else shipped_root()


def shipped_root() -> Path:
    """The directory of the catalog that comes with the package."""
    return Path(__file__).parent.parent / "catalog"


@dataclass(frozen=True, slots=True)
class Folder:
    """A catalog's directory. `files`, `folders` and `refused` (links) are paths relative to it, with `/`."""

    root: Path
    files: frozenset[str]
    folders: frozenset[str]
    refused: frozenset[str]

    def read(self, path: str) -> tuple[str | None, list[Problem]]:
        """The text of the listed file `path`, or `None` and why it cannot be had."""
        place = Place(path)
        try:
            content = self._content(path)
        except OSError as error:
            return None, [place.problem(f"cannot be read: {error.strerror or 'unknown error'}")]
        if content is None:
            return None, [place.problem("is not a regular file any more")]
        if len(content) > LARGEST:
            return None, [place.problem(f"is larger than {LARGEST // 1024} kB; split it")]
        return _decoded(content, path)

    def target(self, named: str, *, by: str, among: Iterable[str]) -> str:
        """The listed file that `named` means in the file `by`, to whose folder it is relative.

        Args:
            named: A relative path.
            by: The file that names it.
            among: The files that may be suggested where it names none; only looked at then.

        Raises:
            ValueError: It is absolute, leaves the catalog, or is not in it.
        """
        if not named or "\\" in named or named.startswith(("/", "~")) or ":" in named:
            raise ValueError(f"{shown(named)} is not a path relative to this file, written with '/'")
        home = str(PurePosixPath(by).parent)
        path = normpath(f"{home}/{named}")
        if path == ".." or path.startswith("../"):
            raise ValueError(f"{shown(named)} leaves the catalog; name a file inside it")
        if path not in self.files:
            raise ValueError(f"there is no file {shown(named)}{self._meant(named, path, home, among)}")
        return path

    def _meant(self, named: str, path: str, home: str, among: Iterable[str]) -> str:
        if any(path == link or path.startswith(f"{link}/") for link in self.refused):
            return "; symbolic links are not followed"
        near = closest(named, [os.path.relpath(file, home).replace(os.sep, "/") for file in among])
        return "" if near is None else f"; did you mean {near!r}?"

    def _content(self, path: str) -> bytes | None:
        """Up to one byte more than the largest file; `None` for anything but a regular file."""
        descriptor = os.open(self.root / path, _FLAGS)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(LARGEST + 1)
        finally:
            os.close(descriptor)


def survey(root: Path) -> tuple[Folder | None, list[Problem]]:
    """List the catalog's directory, and what in it may not be there; `None` when there is none."""
    if not root.is_dir():
        message = f"the catalog's directory does not exist; set {VARIABLE} to one that does"
        return None, [Place(".").problem(message)]
    listing = _Listing()
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = list(os.scandir(root / prefix))
        except OSError as error:
            listing.refuse(prefix.rstrip("/") or ".", f"cannot be listed: {error.strerror}")
            continue
        waiting += [f"{prefix}{entry.name}/" for entry in entries if listing.take(entry, prefix)]
    folder = Folder(root, frozenset(listing.files), frozenset(listing.folders), frozenset(listing.refused))
    return folder, listing.problems


class _Listing:
    """What has been found so far."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self.refused: set[str] = set()
        self.problems: list[Problem] = []

    def take(self, entry: os.DirEntry[str], prefix: str) -> bool:
        """Note an entry; whether it is a folder to go into."""
        path = f"{prefix}{entry.name}"
        if not entry.name.isprintable():
            self.refuse(ascii(path), "has a name that cannot be printed; rename it")
            return False
        if entry.name.startswith("."):
            return False
        if entry.is_symlink():
            self.refuse(path, "is a symbolic link; put the file itself here")
        elif entry.is_dir(follow_symlinks=False):
            self.folders.add(path)
            return True
        elif entry.is_file(follow_symlinks=False):
            self.files.add(path)
        else:
            self.refuse(path, "is neither a file nor a directory")
        return False

    def refuse(self, path: str, reason: str) -> None:
        """Note something that is left out."""
        self.refused.add(path)
        self.problems.append(Place(path).problem(reason))


def _decoded(content: bytes, path: str) -> tuple[str | None, list[Problem]]:
    null = content.find(b"\0")
    if null >= 0:
        return None, [_at(content, null, path).problem("holds a null byte; a catalog file is text")]
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, [_at(content, error.start, path).problem("is not UTF-8; save it as UTF-8")]
    return text.replace("\r\n", "\n").replace("\r", "\n"), []


def _at(content: bytes, offset: int, path: str) -> Place:
    before = content[:offset]
    line = before.rpartition(b"\n")[2].decode("utf-8", "replace")
    return Place(path, before.count(b"\n") + 1, len(line) + 1)

"""The files of a catalog: which belong where, what they hold, and the problems on the way."""

from __future__ import annotations

from typing import Final

from assistants.errors import Problem
from assistants.loading.folder import Folder
from assistants.loading.node import Node, Place
from assistants.loading.source import parse
from assistants.loading.wording import shown

RINGS: Final = "rings.yaml"
"""The file that lists the rings."""

BASES: Final = "bases"
"""The folder of the files that others extend."""

TENANTS: Final = "tenants"
"""The folder with a folder for each tenant."""

TENANT: Final = "tenant.yaml"
"""The tenant's own file in its folder; the other YAML files there are its assistants."""

HANDBOOK: Final = "handbook"
"""The folder of a tenant's knowledge base; its files are documents and are not read here."""


class Library:
    """Reads the files of one folder."""

    def __init__(self, folder: Folder) -> None:
        self.problems: list[Problem] = []
        self._folder = folder
        self._texts: dict[str, str | None] = {}
        self._assistants: dict[str, list[str]] = {}
        for path in sorted(folder.files):
            if _is_assistant(path):
                self._assistants.setdefault(path.rpartition("/")[0], []).append(path)

    def text(self, path: str) -> str | None:
        """The text of a listed file; `None`, with a problem, when it cannot be had."""
        if path not in self._texts:
            self._texts[path], problems = self._folder.read(path)
            self.problems += problems
        return self._texts[path]

    def tree(self, path: str) -> tuple[Node | None, bool]:
        """The tree of a listed YAML file, and whether it holds all that the file says."""
        text = self.text(path)
        tree, problems = (None, []) if text is None else parse(text, file=path)
        self.problems += problems
        return tree, not problems

    def base(self, named: str, by: str) -> str:
        """The file that `by` extends.

        Raises:
            ValueError: There is none, or it is nothing to extend.
        """
        path = self._target(named, by, suffix=".yaml")
        if not (_is_base(path) or _is_assistant(path)):
            raise ValueError(f"{shown(named)} is no base; extend a file of {BASES}/ or an assistant")
        return path

    def markdown(self, named: str, by: str) -> str:
        """The Markdown file that `by` names.

        Raises:
            ValueError: There is none, or it is no Markdown file.
        """
        return self._target(named, by, suffix=".md")

    def has(self, path: str) -> bool:
        """Whether the file is listed."""
        return path in self._folder.files

    def bases(self) -> list[str]:
        """The base files, sorted."""
        return sorted(path for path in self._folder.files if _is_base(path))

    def tenants(self) -> list[str]:
        """The folders of tenants, sorted."""
        folders = (path for path in self._folder.folders if len(_parts(path)) == 2)
        return sorted(path for path in folders if _parts(path)[0] == TENANTS)

    def assistants(self, tenant: str) -> list[str]:
        """The assistants' files in a tenant's folder, sorted."""
        return self._assistants.get(tenant, [])

    def misplaced(self) -> list[Problem]:
        """YAML files where no catalog file belongs, so that none is overlooked."""
        found: list[Problem] = []
        for path in sorted(self._folder.files):
            if path.endswith(".yml") and not _is_document(path):
                found.append(Place(path).problem("catalog files end in .yaml; rename it"))
            elif path.endswith(".yaml") and not _belongs(path):
                found.append(
                    Place(path).problem(
                        f"no catalog file belongs here; expected {RINGS}, {BASES}/NAME.yaml, "
                        f"{TENANTS}/SLUG/{TENANT} or {TENANTS}/SLUG/NAME.yaml"
                    )
                )
        return found

    def _target(self, named: str, by: str, *, suffix: str) -> str:
        allowed = (file for file in self._folder.files if file.endswith(suffix) and _may_use(file, by))
        path = self._folder.target(named, by=by, among=allowed)
        if not path.endswith(suffix):
            raise ValueError(f"{shown(named)} does not end in {suffix}")
        if not _may_use(path, by):
            raise ValueError(f"the file belongs to a tenant; share it from {BASES}/ instead")
        return path


def _parts(path: str) -> list[str]:
    return path.split("/")


def _owner(path: str) -> str | None:
    """The tenant's folder that a path lies in, if any."""
    parts = _parts(path)
    return parts[1] if len(parts) > 2 and parts[0] == TENANTS else None


def _may_use(path: str, by: str) -> bool:
    """Whether the file `by` may name `path`: a shared file, or one of its own tenant."""
    return _owner(path) in (None, _owner(by))


def _is_base(path: str) -> bool:
    return path.endswith(".yaml") and len(_parts(path)) > 1 and _parts(path)[0] == BASES


def _is_assistant(path: str) -> bool:
    parts = _parts(path)
    return path.endswith(".yaml") and len(parts) == 3 and parts[0] == TENANTS and parts[2] != TENANT


def _is_document(path: str) -> bool:
    parts = _parts(path)
    return len(parts) > 3 and parts[0] == TENANTS and parts[2] == HANDBOOK


def _belongs(path: str) -> bool:
    own = path == RINGS or (_owner(path) is not None and len(_parts(path)) == 3)
    return own or _is_base(path) or _is_document(path)

"""What `extends` does: maps merge deep, everything else replaces, and null removes what a base set.

This is JSON Merge Patch (RFC 7396) from the outermost base inwards. Each value keeps the place of the file
that set it, so the merged tree knows where everything came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from assistants.errors import Problem
from assistants.loading.node import Node, Path, Place, is_map
from assistants.loading.wording import dotted, shown

KEY: Final = "extends"

LONGEST: Final = 16
"""How many files may extend each other in a chain."""


def merge(base: Node, over: Node) -> Node:
    """`over` laid on `base`; entries of `over` that are null remove the base's."""
    if not is_map(over.value):
        return over
    entries = dict(base.children)
    for key, node in over.value.items():
        if node.value is None:
            entries.pop(key, None)
        else:
            entries[key] = merge(entries.get(key, Node({}, node.place)), node)
    return replace(over, value=entries)


def idle_nulls(base: Node, over: Node, *, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """The null entries of `over` that remove nothing from `base`, with their paths."""
    for key, node in over.children.items():
        below = base.children.get(key)
        if node.value is None and below is None:
            yield (*path, key), node
        yield from idle_nulls(below or Node({}, node.place), node, path=(*path, key))


@dataclass(frozen=True, slots=True)
class Lineage:
    """A file merged with its bases. `whole` is false when a part of it could not be read.

    `length` is the number of files in the chain.
    """

    tree: Node
    whole: bool
    length: int = 1


class Inheritance:
    """Merges the files of one catalog, each base once.

    Args:
        read: The tree of a file and whether it holds all that the file says; `None` when there is no tree.
        target: The file that an `extends` of another file names; `ValueError` says why there is none.
    """

    def __init__(
        self,
        *,
        read: Callable[[str], tuple[Node | None, bool]],
        target: Callable[[str, str], str],
    ) -> None:
        self.problems: list[Problem] = []
        self._read = read
        self._target = target
        self._known: dict[str, Lineage | None] = {}

    def lineage(self, file: str, *, chain: tuple[str, ...] = ()) -> Lineage | None:
        """`file` merged with what it extends, or `None` when it has no tree."""
        if file not in self._known:
            tree, whole = self._read(file)
            self._known[file] = (
                None if tree is None else self._merged(tree, whole=whole, chain=(*chain, file))
            )
        return self._known[file]

    def _merged(self, tree: Node, *, whole: bool, chain: tuple[str, ...]) -> Lineage:
        own = replace(tree, value={key: node for key, node in tree.children.items() if key != KEY})
        named = tree.children.get(KEY)
        if named is None:
            return self._laid(Node({}, tree.place), own, whole=whole)
        base = self._base(named, chain)
        if base is None:
            return Lineage(merge(Node({}, tree.place), own), whole=False)
        if not base.whole:
            return Lineage(merge(base.tree, own), whole=False, length=base.length + 1)
        return self._laid(base.tree, own, whole=whole, length=base.length + 1)

    def _laid(self, base: Node, own: Node, *, whole: bool, length: int = 1) -> Lineage:
        for path, node in idle_nulls(base, own):
            self.problems.append(
                node.named.problem(f"{dotted(path)}: null removes what a base sets, but no base sets it")
            )
        return Lineage(merge(base, own), whole=whole, length=length)

    def _base(self, named: Node, chain: tuple[str, ...]) -> Lineage | None:
        if not isinstance(named.value, str):
            self._refuse(named.place, f"expected the path of a file, got {shown(named.value)}")
            return None
        try:
            file = self._target(named.value, chain[-1])
        except ValueError as error:
            self._refuse(named.place, str(error))
            return None
        if file in chain:
            circle = " → ".join((*chain[chain.index(file) :], file))
            self._refuse(named.place, f"the files extend each other in a circle: {circle}")
            return None
        base = self.lineage(file, chain=chain) if len(chain) < LONGEST else None
        if len(chain) >= LONGEST or (base is not None and base.length >= LONGEST):
            self._refuse(named.place, f"more than {LONGEST} files extend each other")
            return None
        return base

    def _refuse(self, place: Place, reason: str) -> None:
        self.problems.append(place.problem(f"{KEY}: {reason}"))

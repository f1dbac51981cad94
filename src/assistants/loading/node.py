"""Values of a catalog file that know where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard, cast

from assistants.errors import Problem

Scalar = str | int | float | bool | None
Path = tuple[str | int, ...]
JSON: TypeAlias = "dict[str, JSON] | list[JSON] | Scalar"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: `file` relative to the catalog, `line` and `column` counted from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def problem(self, message: str) -> Problem:
        """A problem at this place."""
        return Problem(file=self.file, line=self.line, column=self.column, message=message)


@dataclass(frozen=True, slots=True)
class Node:
    """A value with the place where it begins, and `key`, the place of the key that names it.

    `value` is a scalar, a tuple of nodes (a list) or a mapping of nodes (a map).
    """

    value: Scalar | tuple[Node, ...] | Mapping[str, Node]
    place: Place
    key: Place | None = None

    @property
    def named(self) -> Place:
        """The place of its key, or its own where no key names it."""
        return self.key or self.place

    @property
    def children(self) -> Mapping[str, Node]:
        """The entries of a map; of anything else, none."""
        return self.value if is_map(self.value) else {}

    def plain(self) -> JSON:
        """The value as JSON values, without places."""
        if is_map(self.value):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, tuple):
            return [child.plain() for child in self.value]
        return cast("Scalar", self.value)

    def find(self, path: Path) -> Node | None:
        """The node at `path`, or `None`."""
        node: Node | None = self
        for step in path:
            node = None if node is None else node.child(step)
        return node

    def nearest(self, path: Path) -> Node:
        """The node at `path`, or the last one on the way there that exists."""
        node = self
        for step in path:
            child = node.child(step)
            if child is None:
                return node
            node = child
        return node

    def child(self, step: str | int) -> Node | None:
        """The entry or item `step`, or `None`."""
        if is_map(self.value):
            return self.value.get(step) if isinstance(step, str) else None
        if isinstance(self.value, tuple) and isinstance(step, int) and 0 <= step < len(self.value):
            return self.value[step]
        return None

    def leaves(self, prefix: Path = ()) -> Iterator[tuple[Path, Place]]:
        """Every scalar and every empty map or list below, with its path and place."""
        items = enumerate(self.value) if isinstance(self.value, tuple) else self.children.items()
        below = [leaf for step, child in items for leaf in child.leaves((*prefix, step))]
        yield from below or [(prefix, self.place)]


def is_map(value: Scalar | tuple[Node, ...] | Mapping[str, Node]) -> TypeGuard[Mapping[str, Node]]:
    """Whether a node's value is a map."""
    return isinstance(value, Mapping)

"""Where each value of a resolved assistant came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assistants.loading.node import Node, Path, Place


@dataclass(frozen=True, slots=True)
class Provenance:
    """The place in a file that set each leaf of an assistant's spec, by the path of its keys.

    What no file sets has no place: it is a default. A limit that comes from a ceiling has the place of the
    ceiling in the tenant's file.
    """

    places: Mapping[Path, Place]

    @classmethod
    def of(cls, tree: Node) -> Provenance:
        """The places of a merged tree's leaves."""
        return cls(dict(tree.leaves()))

    def place(self, *path: str | int) -> Place | None:
        """The place of the leaf at `path`, or of the leaf that contains it; `None` for a default."""
        return next(
            (self.places[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.places), None
        )

    def also(self, places: Mapping[Path, Place]) -> Provenance:
        """These places and further ones."""
        return Provenance({**self.places, **places})

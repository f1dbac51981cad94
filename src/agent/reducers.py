"""Idempotent reducers for graph state.

LangGraph runs a node again after a crash or a resume, so a patch can arrive twice. Each reducer here gives
the same value when a patch is applied twice as when it is applied once, and takes `None` on either side as
"nothing". Where two different patches in one super-step could disagree, the docstring says who wins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")
Record = Mapping[str, Any]


def merge_by_id(left: Sequence[Record] | None, right: Sequence[Record] | None) -> list[Record]:
    """Records keyed by `id`: a record of `right` replaces that of `left` in place, new ones are appended.

    Of two patches for one id the later wins, so the order of conflicting patches matters.

    Raises:
        KeyError: A record has no `id`.
    """
    return list({record["id"]: record for record in _both(left, right)}.values())


def merge_by_index(left: Sequence[Record] | None, right: Sequence[Record] | None) -> list[Record]:
    """Records keyed by an integer `index`, sorted by it; of two records for one index the later wins.

    A list rather than a mapping, because integer keys do not survive the JSON form of a checkpoint.

    Raises:
        KeyError: A record has no `index`.
    """
    merged = {record["index"]: record for record in _both(left, right)}
    return [merged[index] for index in sorted(merged)]


def append_unique(left: Sequence[Item] | None, right: Sequence[Item] | None) -> list[Item]:
    """`left` and then what `right` adds to it, order kept; items are compared with `==`, hashable or not.

    The set of items does not depend on the order of patches, their sequence does.
    """
    kept: list[Item] = []
    for item in _both(left, right):
        if item not in kept:
            kept.append(item)
    return kept


def counter_max(left: int | None, right: int | None) -> int:
    """The larger count. A node writes the count it has reached, not an increment; order does not matter."""
    return max(left or 0, right or 0)


def keep_best(left: Record | None, right: Record | None) -> Record | None:
    """The record with the higher `score`; order does not matter.

    On a tie the record whose canonical JSON sorts first stays, so that every order of patches agrees.

    Raises:
        KeyError: A record has no `score`.
    """
    if left is None or right is None:
        return right if left is None else left
    return max(left, right, key=lambda record: (record["score"], _Reversed(_canonical(record))))


class _Reversed(str):
    """Text that sorts the other way round."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)

    def __gt__(self, other: str) -> bool:
        return str.__lt__(self, other)


def _both(left: Iterable[Item] | None, right: Iterable[Item] | None) -> list[Item]:
    return [*(left or ()), *(right or ())]


def _canonical(record: Record) -> str:
    return json.dumps(record, sort_keys=True, default=repr)

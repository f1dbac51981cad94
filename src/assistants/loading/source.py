"""The text of a YAML file, parsed into a tree of values with places.

ruamel.yaml reads the syntax and gives line and column; the values follow the core schema of YAML 1.2 (`NO`
and dates stay text). What makes a file ambiguous or dangerous is refused here: duplicate keys, keys without
a value, tags, merge keys, several documents, deep nesting, and aliases that multiply or contain themselves.
The tree is built from the parser's events, without recursion, so no input can exhaust the stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
)
from ruamel.yaml.reader import ReaderError

from assistants.errors import Problem
from assistants.loading.node import Node, Place, Scalar
from assistants.loading.scalar import is_text, resolve
from assistants.loading.wording import shown

DEEPEST: Final = 32
"""How deep maps and lists may be nested."""

LARGEST: Final = 20_000
"""How many values a file may hold, each alias counted as what it stands for."""

_UNSOUND: Final = "text may not hold a null character or half a surrogate pair"


class Unreadable(Exception):
    """A file that cannot be parsed any further; `problem` says why and where."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _Mark(Protocol):
    line: int
    column: int


class _Event(Protocol):
    """What events of ruamel.yaml carry; each kind has its part of it."""

    start_mark: _Mark
    anchor: str | None
    ctag: object
    implicit: tuple[bool, bool]
    style: str | None
    value: str
    version: tuple[int, int] | None


def parse(text: str, *, file: str) -> tuple[Node | None, list[Problem]]:
    """The map that `text` holds, and what is wrong with it.

    Args:
        text: The content of the file.
        file: Its path relative to the catalog, for the places.

    Returns:
        The tree and the problems. With any problem the tree holds only what is beyond doubt (of two equal
        keys the first one, of a bad value nothing); it is `None` when the text cannot be parsed to its end
        or is not a map.
    """
    builder = _Builder(file)
    try:
        for event in _events(text, file):
            builder.take(event)
    except Unreadable as error:
        return None, [*builder.problems, error.problem]
    root = builder.root
    if root is None:
        return None, [Place(file).problem("the file is empty; expected a map of keys and values")]
    if not isinstance(root.value, dict):
        return None, [*builder.problems, root.place.problem("expected a map of keys and values")]
    return root, builder.problems


def _events(text: str, file: str) -> Iterator[_Event]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        failure: Any = error
        mark: _Mark | None = failure.problem_mark or failure.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        reason = ", ".join(str(part) for part in (failure.context, failure.problem) if part)
        raise Unreadable(place.problem(f"not valid YAML: {reason}{_hint(reason)}")) from None
    except ReaderError as error:
        before = text[: error.position]
        place = Place(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise Unreadable(place.problem(f"the character U+{error.character:04X} is not allowed")) from None
    except (ValueError, OverflowError):
        raise Unreadable(Place(file).problem("not valid YAML: an escape is no character")) from None


def _hint(reason: str) -> str:
    return "; indent with spaces" if "'\\t'" in reason else ""


def _sound(text: str) -> bool:
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


@dataclass(slots=True)
class _Frame:
    """A map or list that is still open. `key` is the key whose value comes next."""

    place: Place
    anchor: str | None
    entries: dict[str, Node] | None
    items: list[Node] = field(default_factory=list[Node])
    key: str | None = None
    key_place: Place | None = None
    size: int = 1
    depth: int = 1


@dataclass(frozen=True, slots=True)
class _Anchored:
    node: Node
    size: int
    depth: int


class _Builder:
    """Takes the parser's events one by one and holds the tree, the open frames and the problems."""

    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self.root: Node | None = None
        self._file = file
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored] = {}
        self._documents = 0

    def take(self, event: _Event) -> None:
        """Add one event to the tree."""
        place = Place(self._file, event.start_mark.line + 1, event.start_mark.column + 1)
        kind: type = type(event)
        if kind is ScalarEvent:
            self._scalar(event, place)
        elif issubclass(kind, CollectionStartEvent):
            self._open(event, place, is_map=kind is MappingStartEvent)
        elif issubclass(kind, CollectionEndEvent):
            self._close()
        elif kind is AliasEvent:
            self._alias(str(event.anchor), place)
        elif kind is DocumentStartEvent:
            self._document(event, place)

    def _document(self, event: _Event, place: Place) -> None:
        self._documents += 1
        if self._documents > 1:
            raise Unreadable(place.problem("a second document starts here; a file holds one"))
        if event.version is not None and tuple(event.version) != (1, 2):
            raise Unreadable(place.problem("files are YAML 1.2; remove the %YAML line"))

    def _scalar(self, event: _Event, place: Place) -> None:
        self._refuse_tag(event.ctag, place)
        plain = event.style is None and event.implicit[0]
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.entries is not None and frame.key_place is None:
            self._name(frame, event.value, place, plain=plain)
            return
        if frame is None and plain and not event.value:
            return
        if plain and not event.value:
            self._refuse_empty(place)
            return
        try:
            value = self._value(event.value, plain=plain)
        except ValueError as error:
            self.problems.append(place.problem(str(error)))
            self._skip()
        else:
            self._put(Node(value, place), anchor=event.anchor, size=1, depth=0)

    def _value(self, text: str, *, plain: bool) -> Scalar:
        if not _sound(text):
            raise ValueError(_UNSOUND)
        return resolve(text) if plain else text

    def _refuse_empty(self, place: Place) -> None:
        frame = self._frames[-1]
        key, at = frame.key, frame.key_place
        if frame.entries is None:
            self.problems.append(place.problem("an item of this list has no value"))
        elif key is not None and at is not None:
            self.problems.append(
                at.problem(f"{shown(key)} has no value; write null to remove what a base sets")
            )
        self._skip()

    def _name(self, frame: _Frame, text: str, place: Place, *, plain: bool) -> None:
        frame.key_place, frame.key = place, None
        known = frame.entries or {}
        if plain and text == "<<":
            self.problems.append(place.problem("merge keys (<<) are not part of YAML 1.2; use extends"))
        elif plain and not is_text(text):
            self.problems.append(place.problem(f"the key {shown(text)} is not text; quote it"))
        elif not _sound(text):
            self.problems.append(place.problem(_UNSOUND))
        elif text in known:
            line = known[text].named.line
            self.problems.append(place.problem(f"duplicate key {shown(text)}; line {line} sets it already"))
        else:
            frame.key = text

    def _open(self, event: _Event, place: Place, *, is_map: bool) -> None:
        self._refuse_tag(event.ctag, place)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.entries is not None and frame.key_place is None:
            raise Unreadable(place.problem("a key must be text, not a map or a list"))
        if len(self._frames) >= DEEPEST:
            raise Unreadable(place.problem(f"nested more than {DEEPEST} deep"))
        self._frames.append(_Frame(place, event.anchor, {} if is_map else None))

    def _close(self) -> None:
        frame = self._frames.pop()
        value = tuple(frame.items) if frame.entries is None else frame.entries
        self._put(Node(value, frame.place), anchor=frame.anchor, size=frame.size, depth=frame.depth)

    def _alias(self, name: str, place: Place) -> None:
        anchored = self._anchors.get(name)
        if anchored is None:
            raise Unreadable(place.problem(f"*{name} stands before or inside what &{name} names"))
        frame = self._frames[-1]
        if frame.entries is not None and frame.key_place is None:
            raise Unreadable(place.problem("a key must be text, not an alias"))
        if len(self._frames) + anchored.depth > DEEPEST:
            raise Unreadable(place.problem(f"nested more than {DEEPEST} deep"))
        self._put(replace(anchored.node, key=None), anchor=None, size=anchored.size, depth=anchored.depth)

    def _put(self, node: Node, *, anchor: str | None, size: int, depth: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = _Anchored(node, size, depth)
        if not self._frames:
            self.root = node
            return
        frame = self._frames[-1]
        frame.size += size
        frame.depth = max(frame.depth, depth + 1)
        if frame.size > LARGEST:
            raise Unreadable(node.place.problem(f"the file holds more than {LARGEST} values"))
        if frame.entries is None:
            frame.items.append(node)
        elif frame.key is not None:
            frame.entries[frame.key] = replace(node, key=frame.key_place)
        self._skip()

    def _skip(self) -> None:
        """Go on behind the value of the current key."""
        for frame in self._frames[-1:]:
            frame.key = frame.key_place = None

    def _refuse_tag(self, tag: object, place: Place) -> None:
        if tag is not None:
            self.problems.append(
                place.problem(f"tags such as {shown(str(tag))} are not allowed; quote text instead")
            )

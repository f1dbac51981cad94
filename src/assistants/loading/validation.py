"""A tree of values against a model: every error with its place, and what of the tree is sound.

pydantic names errors by path; the tree knows where each path stands. What is wrong is cut out and the rest is
validated again, so that one wrong value does not hide the others, nor the checks that come later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Final, Generic, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from assistants.errors import Problem
from assistants.loading.node import Node, Path, is_map
from assistants.loading.suggestion import closest, did_you_mean
from assistants.loading.wording import dotted, shown
from assistants.spec import BELOW, INCOMPLETE

Model = TypeVar("Model", bound=BaseModel)

_SECRETIVE: Final = frozenset(("api_key", "base_url", "secrets", "sha256"))
_ABSENT: Final = frozenset(("missing", INCOMPLETE))
_CONSEQUENT: Final = _ABSENT | {"too_short"}  # what may follow from cutting something out
_UNKNOWN: Final = "extra_forbidden"
_KEY: Final = "[key]"  # how pydantic marks that a key of a map is wrong, not its value
_EXPECTED: Final[Mapping[str, str]] = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text; quote it",
    "tuple_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "date_type": "a date such as 2027-12-31",
    "date_from_datetime_parsing": "a date such as 2027-12-31",
    "date_parsing": "a date such as 2027-12-31",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "too_short": "at least {min_length} item",
    "string_too_short": "at least {min_length} character",
    "string_too_long": "at most {max_length} characters",
    "literal_error": "{expected}",
}


@dataclass(frozen=True, slots=True)
class Draft(Generic[Model]):
    """What a file says, as far as it is sound.

    `spec` and `tree` hold the same values. `damaged` holds the paths that were cut out; the empty path means
    that parts of the file could not be read at all.
    """

    spec: Model
    tree: Node
    damaged: frozenset[Path]

    def trusts(self, *path: str | int) -> bool:
        """Whether the value at `path`, or its absence, is what the files say."""
        return not any(_related(path, broken) for broken in self.damaged)


def validate(
    model: type[Model],
    tree: Node,
    *,
    partial: bool = False,
    stand_ins: Mapping[str, Node] = MappingProxyType({}),
) -> tuple[Draft[Model], list[Problem]]:
    """Check `tree` against `model`.

    Args:
        model: A model whose fields say what is allowed.
        tree: The values.
        partial: Whether what is missing may come from another file (a base), so that it is no problem.
        stand_ins: Values for the keys that the model requires, so that the rest can be judged without them.

    Returns:
        The draft and the problems.
    """
    problems: list[Problem] = []
    damaged: set[Path] = {()} if partial else set()
    silent = _ABSENT if partial else frozenset[str]()
    while True:
        try:
            spec = model.model_validate_json(json.dumps(tree.plain()), strict=True)
            return Draft(spec, tree, frozenset(damaged)), problems
        except ValidationError as invalid:
            found = _own(invalid.errors(include_url=False, include_input=False))
        problems += [_problem(model, error, tree) for error in found if error["type"] not in silent]
        broken = {_broken(error, tree) for error in found}
        absent = {str(error["loc"][0]) for error in found if _broken(error, tree) == ()}
        damaged |= (broken - {()}) | {(key,) for key in absent}
        damaged |= {_meant(model, error) for error in found if error["type"] == _UNKNOWN}
        tree = _with(_without(tree, broken), {key: stand_ins[key] for key in absent})
        silent = _CONSEQUENT


def _own(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """The errors that do not follow from others: a list is not too short because its items are wrong."""
    paths = [error["loc"] for error in errors]
    return [
        error
        for error in errors
        if error["type"] != "too_short"
        or not any(
            len(path) > len(error["loc"]) and path[: len(error["loc"])] == error["loc"] for path in paths
        )
    ]


def _problem(model: type[BaseModel], error: ErrorDetails, tree: Node) -> Problem:
    path = _path(error)
    node = tree.nearest(path)
    name = dotted(path)
    if error["type"] == _UNKNOWN:
        near = did_you_mean(str(path[-1]), _keys(model, path[:-1]))
        return node.named.problem(f"unknown key {shown(path[-1])}{_of(path)}{near}")
    if error["type"] == "missing":
        return node.named.problem(f"{name} is missing")
    place = node.named if error["loc"][-1:] == (_KEY,) else node.place
    return place.problem(f"{name}: {_reason(error, path, node)}")


def _of(path: Path) -> str:
    return f" in {dotted(path[:-1])}" if len(path) > 1 else ""


def _reason(error: ErrorDetails, path: Path, node: Node) -> str:
    context: Mapping[str, Any] = error.get("ctx", {})
    expected = _EXPECTED.get(error["type"])
    if error["type"] == "value_error":
        return str(context["error"])
    if expected is None:
        return error["msg"]
    got = "" if _SECRETIVE.intersection(map(str, path)) else f", got {shown(node.plain())}"
    options = [word.strip("'") for word in str(context.get("expected", "")).replace(" or ", ", ").split(", ")]
    near = did_you_mean(node.value, options) if isinstance(node.value, str) and len(options) > 1 else ""
    return f"expected {expected.format(**context)}{got}{near if near.startswith('; did') else ''}"


def _path(error: ErrorDetails) -> Path:
    """The path of the wrong value; of a wrong key, that of its entry."""
    below: Path = tuple(error.get("ctx", {}).get(BELOW, ()))
    return (*(step for step in error["loc"] if step != _KEY), *below)


def _broken(error: ErrorDetails, tree: Node) -> Path:
    """What to cut out: the wrong value; where there is none (something is missing), what surrounds it."""
    path = _path(error)
    while tree.find(path) is None:
        path = path[:-1]
    return path


def _meant(model: type[BaseModel], error: ErrorDetails) -> Path:
    """The path that an unknown key was probably meant to be."""
    path = _path(error)
    return (*path[:-1], closest(str(path[-1]), _keys(model, path[:-1])) or path[-1])


def _keys(model: type[BaseModel], path: Path) -> Iterable[str]:
    """The keys that the model at `path` below `model` knows."""
    kind: Any = model
    for step in path:
        fields = _fields(kind)
        kind = _bare(fields[str(step)].annotation if fields else get_args(kind)[-1])
    return _fields(kind)


def _bare(kind: Any) -> Any:  # noqa: ANN401 - any annotation
    """The annotation without `Annotated`, `… | None` and `tuple[…, ...]`'s ellipsis."""
    if get_origin(kind) in (Annotated, Union, UnionType):
        return _bare(get_args(kind)[0])
    return tuple[get_args(kind)[0]] if get_origin(kind) is tuple else kind


def _fields(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any annotation
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return {}
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _with(node: Node, entries: Mapping[str, Node]) -> Node:
    """The map `node` with further entries."""
    return replace(node, value={**node.children, **entries}) if entries else node


def _without(node: Node, broken: Iterable[Path], *, at: Path = ()) -> Node:
    """`node` without the values at the paths `broken`."""
    cut = frozenset(broken)
    if is_map(node.value):
        kept = {
            key: _without(child, cut, at=(*at, key))
            for key, child in node.value.items()
            if (*at, key) not in cut
        }
        return replace(node, value=kept)
    if isinstance(node.value, tuple):
        items = enumerate(node.value)
        return replace(
            node,
            value=tuple(_without(child, cut, at=(*at, i)) for i, child in items if (*at, i) not in cut),
        )
    return node


def _related(path: Path, broken: Path) -> bool:
    shared = min(len(path), len(broken))
    return path[:shared] == broken[:shared]

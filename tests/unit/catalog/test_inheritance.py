"""`extends`: maps merge deep, lists replace, null removes, and places are kept."""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import dirname, normpath
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from assistants.loading.inheritance import LONGEST, Inheritance, Lineage, idle_nulls, merge
from assistants.loading.node import Node, Place
from assistants.loading.source import parse


def node(value: object, *, file: str = "f", place: int = 1) -> Node:
    """A tree of plain values, all at one place."""
    at = Place(file, place)
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return Node({key: node(child, file=file, place=place) for key, child in entries.items()}, at, at)
    if isinstance(value, list):
        items = cast("list[object]", value)
        return Node(tuple(node(child, file=file, place=place) for child in items), at, at)
    return Node(cast("str | int | None", value), at, at)


KEYS = st.sampled_from("abcd")
SCALARS = st.integers(0, 9) | st.lists(st.integers(0, 2), max_size=2)


def maps(*, nulls: bool) -> st.SearchStrategy[dict[str, Any]]:
    leaves = SCALARS | st.none() if nulls else SCALARS
    return st.dictionaries(
        KEYS,
        st.recursive(leaves, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6),
        max_size=4,
    )


def patched(base: object, over: object) -> object:
    """JSON Merge Patch as RFC 7396 writes it down."""
    if not isinstance(over, dict):
        return over
    result = dict(cast("dict[str, object]", base)) if isinstance(base, dict) else {}
    for key, value in cast("dict[str, object]", over).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


@settings(deadline=None)
@given(maps(nulls=False), maps(nulls=True))
def test_merge_is_json_merge_patch(base: dict[str, Any], over: dict[str, Any]) -> None:
    assert merge(node(base), node(over)).plain() == patched(base, over)


@settings(deadline=None)
@given(maps(nulls=False))
def test_merge_with_nothing_changes_nothing(tree: dict[str, Any]) -> None:
    assert merge(node(tree), node({})).plain() == tree
    assert merge(node({}), node(tree)).plain() == tree
    assert merge(node(tree), node(tree)).plain() == tree


def shaped(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The tree with every map under upper-case keys, so that maps never meet leaves."""
    return {
        (key.upper() if isinstance(value, dict) else key): (
            shaped(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        )
        for key, value in tree.items()
    }


@settings(deadline=None)
@given(maps(nulls=False).map(shaped), maps(nulls=False).map(shaped), maps(nulls=False).map(shaped))
def test_a_chain_merges_the_same_from_either_end(
    one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]
) -> None:
    from_base = merge(merge(node(one), node(two)), node(three))
    from_tip = merge(node(one), merge(node(two), node(three)))
    assert from_base.plain() == from_tip.plain()


@settings(deadline=None)
@given(maps(nulls=False).map(shaped), maps(nulls=False).map(shaped))
def test_every_leaf_keeps_the_place_of_the_file_that_set_it(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    merged = merge(node(base, file="base"), node(over, file="over"))
    own = dict(node(over, file="over").leaves())
    for path, place in merged.leaves():
        kept = merged.find(path)
        assert kept is not None
        if path in own and kept.value != {}:
            assert place.file == "over"
        elif place.file == "over":
            assert path in own
        else:
            assert node(base).find(path) is not None


def test_lists_replace_and_null_removes() -> None:
    base = node({"allow": [1, 2], "limits": {"steps": 4, "tokens": 9}, "memory": {"recall": 5}})
    over = node({"allow": [3], "limits": {"steps": None}, "memory": None})
    assert merge(base, over).plain() == {"allow": [3], "limits": {"tokens": 9}}


def test_null_inside_a_list_is_data() -> None:
    over = node({"schedule": [{"input": {"x": None}}]})
    assert merge(node({}), over).plain() == {"schedule": [{"input": {"x": None}}]}
    assert list(idle_nulls(node({}), over)) == []


def test_nulls_that_remove_nothing_are_told() -> None:
    base = node({"a": 1, "b": {"c": 1}})
    over = node({"a": None, "b": {"c": None, "d": None}, "e": None, "f": {"g": None}})
    assert [path for path, _ in idle_nulls(base, over)] == [("b", "d"), ("e",), ("f", "g")]


def over(files: Mapping[str, str]) -> Inheritance:
    """The inheritance of a catalog of texts."""

    def read(path: str) -> tuple[Node | None, bool]:
        tree, problems = parse(files[path], file=path)
        return tree, not problems

    def target(named: str, by: str) -> str:
        path = normpath(f"{dirname(by) or '.'}/{named}")
        if path not in files:
            raise ValueError(f"there is no file {named!r}")
        return path

    return Inheritance(read=read, target=target)


def merged(files: Mapping[str, str], file: str) -> tuple[Lineage | None, list[str]]:
    """One file with what it extends, and the problems."""
    inheritance = over(files)
    lineage = inheritance.lineage(file)
    return lineage, [str(problem) for problem in inheritance.problems]


def plain(lineage: Lineage | None) -> object:
    assert lineage is not None
    return lineage.tree.plain()


def test_chain_is_merged_from_the_outermost_base_inwards() -> None:
    files = {
        "bases/all.yaml": "limits: {steps: 9, tokens: 5}\ntools: [a, b]\n",
        "bases/support.yaml": "extends: all.yaml\nlimits: {steps: 7}\ngraph: react\n",
        "tenants/acme/support.yaml": "extends: ../../bases/support.yaml\nname: support\ntools: [c]\n",
    }
    lineage, problems = merged(files, "tenants/acme/support.yaml")
    assert problems == []
    assert plain(lineage) == {
        "limits": {"steps": 7, "tokens": 5},
        "tools": ["c"],
        "graph": "react",
        "name": "support",
    }
    assert lineage is not None
    assert lineage.whole
    places = {path: str(place) for path, place in lineage.tree.leaves()}
    assert places == {
        ("limits", "steps"): "bases/support.yaml:2:17",
        ("limits", "tokens"): "bases/all.yaml:1:28",
        ("tools", 0): "tenants/acme/support.yaml:3:9",
        ("graph",): "bases/support.yaml:3:8",
        ("name",): "tenants/acme/support.yaml:2:7",
    }


def test_circle_is_named_once_with_its_chain() -> None:
    files = {
        "a.yaml": "name: a\nextends: b.yaml\n",
        "b.yaml": "extends: c.yaml\n",
        "c.yaml": "extends: b.yaml\nlimits: {steps: 1}\n",
    }
    lineage, problems = merged(files, "a.yaml")
    assert problems == [
        "c.yaml:1:10: extends: the files extend each other in a circle: b.yaml → c.yaml → b.yaml"
    ]
    assert lineage is not None
    assert not lineage.whole


def test_file_that_extends_itself_is_a_circle() -> None:
    _, problems = merged({"a.yaml": "extends: ./a.yaml"}, "a.yaml")
    assert problems == ["a.yaml:1:10: extends: the files extend each other in a circle: a.yaml → a.yaml"]


def test_chain_has_a_longest_length() -> None:
    def chain(length: int) -> dict[str, str]:
        files = {f"f{i}.yaml": f"extends: f{i + 1}.yaml\n" for i in range(length - 1)}
        return {**files, f"f{length - 1}.yaml": "graph: react\n"}

    lineage, problems = merged(chain(LONGEST), "f0.yaml")
    assert (plain(lineage), problems) == ({"graph": "react"}, [])
    _, problems = merged(chain(LONGEST + 1), "f0.yaml")
    assert problems == [f"f{LONGEST - 1}.yaml:1:10: extends: more than {LONGEST} files extend each other"]


def test_chain_is_as_long_when_its_bases_were_merged_before() -> None:
    files = {f"f{i}.yaml": f"extends: f{i + 1}.yaml\n" for i in range(LONGEST)} | {
        f"f{LONGEST}.yaml": "x: 1\n"
    }
    inheritance = over(files)
    for index in reversed(range(1, LONGEST + 1)):
        assert inheritance.lineage(f"f{index}.yaml") is not None
    assert inheritance.problems == []
    tip = inheritance.lineage("f0.yaml")
    assert tip is not None
    assert not tip.whole
    assert [str(problem) for problem in inheritance.problems] == [
        f"f0.yaml:1:10: extends: more than {LONGEST} files extend each other"
    ]


def test_extends_must_be_text_and_name_a_file() -> None:
    _, problems = merged({"a.yaml": "extends: [b.yaml]"}, "a.yaml")
    assert problems == ["a.yaml:1:10: extends: expected the path of a file, got a list"]
    lineage, problems = merged({"a.yaml": "name: a\nextends: b.yaml"}, "a.yaml")
    assert problems == ["a.yaml:2:10: extends: there is no file 'b.yaml'"]
    assert plain(lineage) == {"name": "a"}
    assert lineage is not None
    assert not lineage.whole


def test_base_that_cannot_be_read_makes_the_file_partial() -> None:
    unreadable, problems = merged({"a.yaml": "extends: b.yaml\nx: 1", "b.yaml": "y: ["}, "a.yaml")
    assert (plain(unreadable), problems) == ({"x": 1}, [])
    damaged, problems = merged({"a.yaml": "extends: b.yaml\nx: 1\nz: null", "b.yaml": "y: 2\ny: 3"}, "a.yaml")
    assert (plain(damaged), problems) == ({"y": 2, "x": 1}, [])
    for lineage in (unreadable, damaged):
        assert lineage is not None
        assert not lineage.whole


def test_null_without_a_base_is_reported_at_its_key() -> None:
    _, problems = merged({"a.yaml": "limits:\n  steps: null\n"}, "a.yaml")
    assert problems == ["a.yaml:2:3: limits.steps: null removes what a base sets, but no base sets it"]


def test_file_without_a_tree_has_no_lineage() -> None:
    assert merged({"a.yaml": "x: ["}, "a.yaml") == (None, [])

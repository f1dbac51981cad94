"""Walking a tree of values with places."""

from __future__ import annotations

from assistants.loading.node import Node, Place

TREE = Node(
    {
        "a": Node(
            (Node(1, Place("f", 1, 5)), Node({}, Place("f", 1, 8))), Place("f", 1, 4), Place("f", 1, 1)
        ),
        "b": Node(None, Place("f", 2, 4), Place("f", 2, 1)),
    },
    Place("f", 1, 1),
)


def test_find_follows_keys_and_indexes() -> None:
    first = TREE.find(("a", 0))
    assert first is not None
    assert first.value == 1
    assert TREE.find(()) is TREE


def test_find_gives_nothing_where_the_path_leaves_the_tree() -> None:
    for path in (("c",), ("a", 2), ("a", -1), ("a", "0"), ("a", 0, "x"), ("b", "x"), (0,), ("c", "d", "e")):
        assert TREE.find(path) is None


def test_nearest_stops_at_the_last_node_on_the_way() -> None:
    assert TREE.nearest(("a", 0)).value == 1
    assert TREE.nearest(("a", 7, "x")) is TREE.children["a"]
    assert TREE.nearest(("b", "x")) is TREE.children["b"]
    assert TREE.nearest(("nothing",)) is TREE


def test_named_is_the_key_or_else_the_value() -> None:
    assert TREE.children["b"].named == Place("f", 2, 1)
    assert TREE.named == Place("f", 1, 1)


def test_leaves_are_scalars_and_empty_collections() -> None:
    assert list(TREE.leaves()) == [
        (("a", 0), Place("f", 1, 5)),
        (("a", 1), Place("f", 1, 8)),
        (("b",), Place("f", 2, 4)),
    ]


def test_place_is_written_as_editors_read_it() -> None:
    place = Place("bases/support.yaml", 3, 14)
    assert str(place) == "bases/support.yaml:3:14"
    assert str(place.problem("is wrong")) == "bases/support.yaml:3:14: is wrong"
    assert str(Place("x.md")) == "x.md:1:1"


def test_children_of_anything_but_a_map_are_none() -> None:
    assert TREE.children["a"].children == {}
    assert TREE.children["b"].children == {}

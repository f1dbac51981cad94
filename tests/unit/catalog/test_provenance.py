"""Where each value came from."""

from __future__ import annotations

from assistants.loading.node import Place
from assistants.loading.source import parse
from assistants.provenance import Provenance


def provenance(text: str) -> Provenance:
    tree, _ = parse(text, file="f.yaml")
    assert tree is not None
    return Provenance.of(tree)


def test_leaf_has_its_place_and_what_no_file_sets_has_none() -> None:
    found = provenance("a: 1\nb: {c: [x, y]}\n")
    assert found.place("a") == Place("f.yaml", 1, 4)
    assert found.place("b", "c", 1) == Place("f.yaml", 2, 12)
    assert found.place("b", "c", 2) is None
    assert found.place("b") is None
    assert found.place("nothing") is None


def test_path_below_a_leaf_has_the_place_of_the_leaf() -> None:
    found = provenance("prompt: {file: p.md}\nempty: []\n")
    assert found.place("prompt", "file", "x") == Place("f.yaml", 1, 16)
    assert found.place("empty", 0) == Place("f.yaml", 2, 8)


def test_further_places_do_not_change_the_first() -> None:
    found = provenance("a: 1\n")
    more = found.also({("limits", "steps"): Place("tenant.yaml", 7, 3)})
    assert more.place("limits", "steps") == Place("tenant.yaml", 7, 3)
    assert more.place("a") == Place("f.yaml", 1, 4)
    assert found.place("limits", "steps") is None

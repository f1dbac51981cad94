"""The family of errors and their texts."""

from __future__ import annotations

from assistants.errors import CatalogInvalid, Problem, SignalboxError


class Broken(SignalboxError):
    """Something broke.

    This part is for developers.
    """


def test_message_begins_with_the_first_sentence_of_the_class() -> None:
    assert str(Broken("'x' is missing; add it.")) == "Something broke. 'x' is missing; add it."
    assert str(Broken()) == "Something broke."
    assert Broken("detail").detail == "detail"


def test_problems_are_sorted_by_place_and_told_once() -> None:
    problems = [
        Problem("b.yaml", 1, 1, "x"),
        Problem("a.yaml", 10, 1, "x"),
        Problem("a.yaml", 9, 12, "x"),
        Problem("a.yaml", 9, 2, "y"),
        Problem("a.yaml", 9, 2, "x"),
        Problem("b.yaml", 1, 1, "x"),
    ]
    invalid = CatalogInvalid(problems)
    assert isinstance(invalid, SignalboxError)
    assert str(invalid).splitlines() == [
        "a.yaml:9:2: x",
        "a.yaml:9:2: y",
        "a.yaml:9:12: x",
        "a.yaml:10:1: x",
        "b.yaml:1:1: x",
    ]
    assert len(invalid.problems) == 5

"""Errors of pydantic at places of the tree, and what stays when they are cut out."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from assistants.loading.node import Node, Place
from assistants.loading.source import parse
from assistants.loading.validation import Draft, validate
from assistants.spec import INCOMPLETE, AssistantSpec, Distinct, Section


class Inner(Section):
    kind: Literal["one", "two"] = "one"
    size: Annotated[int, Field(ge=0, le=9)] | None = None
    rate: float = 1.0
    api_key: Annotated[str, Field(max_length=3)] = ""

    @model_validator(mode="after")
    def _whole(self) -> Inner:
        if self.size == 0:
            raise PydanticCustomError(INCOMPLETE, "expected a size that is not 0")
        if self.size == 9:
            raise ValueError("expected a size other than 9")
        return self


class Outer(Section):
    name: str
    items: Annotated[tuple[Inner, ...], Field(min_length=1)] | None = None
    by_name: dict[str, dict[str, Inner]] = Field(default_factory=dict)
    words: Annotated[tuple[str, ...], Distinct] = ()
    flag: bool = False


def drafted(text: str, *, partial: bool = False) -> tuple[Draft[Outer], list[str]]:
    tree, problems = parse(text, file="f")
    assert tree is not None
    assert problems == []
    draft, found = validate(Outer, tree, partial=partial, stand_ins={"name": Node("nobody", Place("f"))})
    return draft, [str(problem).removeprefix("f:") for problem in sorted(found)]


def test_sound_tree_is_its_model() -> None:
    draft, problems = drafted("name: x\nitems: [{size: 3, rate: 2}]\nwords: [a, b]")
    assert problems == []
    assert draft.spec == Outer(name="x", items=(Inner(size=3, rate=2.0),), words=("a", "b"))
    assert draft.damaged == frozenset()
    assert draft.trusts("items")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nme: x", "2:1: unknown key 'nme'; did you mean 'name'?"),
        ("other: x", "2:1: unknown key 'other'; expected one of by_name, flag, items, name, words"),
        ("items: [{sise: 1}]", "2:10: unknown key 'sise' in items[0]; did you mean 'size'?"),
        ("by_name: {a: {b: {sise: 1}}}", "2:19: unknown key 'sise' in by_name.a.b; did you mean 'size'?"),
        ("items: x", "2:8: items: expected a list, got 'x'"),
        ("items: []", "2:8: items: expected at least 1 item, got a list"),
        ("items: [1]", "2:9: items[0]: expected a map, got 1"),
        ("by_name: []", "2:10: by_name: expected a map, got a list"),
        ("words: [1]", "2:9: words[0]: expected text; quote it, got 1"),
        ("words: [a, b, a]", "2:15: words[2]: expected each value once, this one is there before"),
        ("flag: 'yes'", "2:7: flag: expected true or false, got 'yes'"),
        ("items: [{size: '4'}]", "2:16: items[0].size: expected a whole number, got '4'"),
        ("items: [{size: 4.5}]", "2:16: items[0].size: expected a whole number, got 4.5"),
        ("items: [{size: 4.0}]", "2:16: items[0].size: expected a whole number, got 4.0"),
        ("items: [{size: true}]", "2:16: items[0].size: expected a whole number, got true"),
        ("items: [{size: 10}]", "2:16: items[0].size: expected at most 9, got 10"),
        ("items: [{size: -1}]", "2:16: items[0].size: expected at least 0, got -1"),
        ("items: [{size: 9}]", "2:9: items[0]: expected a size other than 9"),
        ("items: [{size: 0}]", "2:9: items[0]: expected a size that is not 0"),
        ("items: [{rate: x}]", "2:16: items[0].rate: expected a number, got 'x'"),
        (
            "items: [{kind: tow}]",
            "2:16: items[0].kind: expected 'one' or 'two', got 'tow'; did you mean 'two'?",
        ),
        ("items: [{kind: zzz}]", "2:16: items[0].kind: expected 'one' or 'two', got 'zzz'"),
        ("items: [{api_key: sk-12345}]", "2:19: items[0].api_key: expected at most 3 characters"),
    ],
)
def test_problem_names_path_place_expectation_and_value(text: str, expected: str) -> None:
    draft, problems = drafted(f"name: x\n{text}")
    assert problems == [expected]
    assert draft.spec.name == "x"


def test_all_problems_are_found_also_those_that_others_hide() -> None:
    text = "name: x\nitems:\n  - {size: 9, rate: x}\n  - {size: 10}\n  - {size: 9}\n  - {size: 5}\n"
    draft, problems = drafted(text)
    assert problems == [
        "3:5: items[0]: expected a size other than 9",
        "3:21: items[0].rate: expected a number, got 'x'",
        "4:12: items[1].size: expected at most 9, got 10",
        "5:5: items[2]: expected a size other than 9",
    ]
    assert draft.spec.items == (Inner(), Inner(size=5))


def test_what_follows_from_cutting_out_is_no_further_problem() -> None:
    draft, problems = drafted("name: x\nitems: [1]\n")
    assert problems == ["2:9: items[0]: expected a map, got 1"]
    assert draft.spec.items is None


def test_wrong_required_key_is_stood_in_for() -> None:
    draft, problems = drafted("flag: 1")
    assert problems == ["1:1: name is missing", "1:7: flag: expected true or false, got 1"]
    assert draft.spec == Outer(name="nobody")
    assert not draft.trusts("name")
    assert not draft.trusts("flag")
    draft, problems = drafted("name: 5\nwords: [a]")
    assert problems == ["1:7: name: expected text; quote it, got 5"]
    assert draft.spec == Outer(name="nobody", words=("a",))


def test_partial_file_may_leave_things_out_but_not_be_wrong() -> None:
    draft, problems = drafted("items: [{size: 0}]\nwords: [1, a]", partial=True)
    assert problems == ["2:9: words[0]: expected text; quote it, got 1"]
    assert draft.spec.words == ("a",)
    for key in Outer.model_fields:
        assert not draft.trusts(key)


def test_draft_trusts_nothing_at_or_around_what_was_cut_out() -> None:
    draft, _ = drafted("name: x\nby_name: {a: {b: {size: x}}}\nwrods: [a]\n")
    assert draft.trusts("name")
    assert draft.trusts("by_name", "c")
    assert draft.trusts("by_name", "a", "b", "kind")
    assert not draft.trusts("by_name")
    assert not draft.trusts("by_name", "a", "b", "size")
    assert not draft.trusts("by_name", "a", "b", "size", "x")
    assert not draft.trusts("words")


def test_tree_of_a_draft_holds_what_its_spec_holds() -> None:
    draft, _ = drafted("name: x\nwords: [1, a, 2, b]\n")
    assert draft.spec.words == ("a", "b")
    second = draft.tree.find(("words", 1))
    assert second is not None
    assert (second.value, second.place) == ("b", Place("f", 2, 18))


class Either(Section):
    size: int | tuple[int, ...] = 0
    flag: bool = False


def test_error_below_what_the_tree_holds_cuts_out_what_it_holds() -> None:
    tree, _ = parse("size: x\nflag: true", file="f")
    assert tree is not None
    draft, problems = validate(Either, tree)
    assert draft.spec == Either(flag=True)
    assert {problem.line for problem in problems} == {1}
    assert not draft.trusts("size")


def test_secrets_are_never_repeated() -> None:
    text = 'name: x\nmodel: {name: "openai:x", base_url: [hunter2], api_key: {a: hunter2}}\n'
    tree, _ = parse(text, file="f")
    assert tree is not None
    _, problems = validate(AssistantSpec, tree)
    assert len(problems) == 2
    assert "hunter2" not in " ".join(map(str, problems))

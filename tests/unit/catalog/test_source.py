"""YAML text becomes a tree with places, or problems with places."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from assistants.loading.node import Node, Place
from assistants.loading.source import DEEPEST, LARGEST, parse

TEXT = """\
# a comment
name: support
tools:
  allow: [orders.get, "kb.search"]   # a list
  none: []
limits: {steps: 40, usd: 0.40,
         mode: null}
schedule:
  - key: daily
    until: 2027-12-31
text: |
  two
  lines
"""


def sound(text: str) -> Node:
    tree, problems = parse(text, file="f.yaml")
    assert problems == []
    assert tree is not None
    return tree


def lines(text: str) -> list[str]:
    return [str(problem).removeprefix("f.yaml:") for problem in parse(text, file="f.yaml")[1]]


def test_values_are_plain_json() -> None:
    assert sound(TEXT).plain() == {
        "name": "support",
        "tools": {"allow": ["orders.get", "kb.search"], "none": []},
        "limits": {"steps": 40, "usd": 0.4, "mode": None},
        "schedule": [{"key": "daily", "until": "2027-12-31"}],
        "text": "two\nlines\n",
    }


def test_every_value_and_key_knows_its_place() -> None:
    tree = sound(TEXT)
    second = tree.find(("tools", "allow", 1))
    mode = tree.find(("limits", "mode"))
    assert second is not None
    assert (second.place, second.key) == (Place("f.yaml", 4, 23), None)
    assert mode is not None
    assert (mode.place, mode.named) == (Place("f.yaml", 7, 16), Place("f.yaml", 7, 10))
    assert dict(tree.leaves()) == {
        ("name",): Place("f.yaml", 2, 7),
        ("tools", "allow", 0): Place("f.yaml", 4, 11),
        ("tools", "allow", 1): Place("f.yaml", 4, 23),
        ("tools", "none"): Place("f.yaml", 5, 9),
        ("limits", "steps"): Place("f.yaml", 6, 17),
        ("limits", "usd"): Place("f.yaml", 6, 26),
        ("limits", "mode"): Place("f.yaml", 7, 16),
        ("schedule", 0, "key"): Place("f.yaml", 9, 10),
        ("schedule", 0, "until"): Place("f.yaml", 10, 12),
        ("text",): Place("f.yaml", 11, 7),
    }


def test_norwegian_country_code_stays_text() -> None:
    assert sound("country: NO\nanswer: yes").plain() == {"country": "NO", "answer": "yes"}


def test_quoted_scalars_are_text_whatever_they_look_like() -> None:
    assert sound("a: \"40\"\nb: 'null'\n\"true\": ''\n'1': \"<<\"").plain() == {
        "a": "40",
        "b": "null",
        "true": "",
        "1": "<<",
    }


def test_block_scalars_are_text() -> None:
    assert sound("a: >-\n  1\nb: |\n  true\n").plain() == {"a": "1", "b": "true\n"}


def test_alias_stands_for_the_anchored_value() -> None:
    tree = sound("base: &b {x: [1, 2]}\ncopy: *b\nlist: [*b, *b]\n")
    assert tree.plain() == {"base": {"x": [1, 2]}, "copy": {"x": [1, 2]}, "list": [{"x": [1, 2]}] * 2}
    copied = tree.find(("copy",))
    assert copied is not None
    assert (copied.named.line, copied.place.line) == (2, 1)


def test_all_duplicate_keys_are_found_and_the_first_counts() -> None:
    text = "a: 1\nb: {c: 1, c: 2}\na: 2\nd:\n  e: 1\n  e: 1\n"
    assert lines(text) == [
        "2:11: duplicate key 'c'; line 2 sets it already",
        "3:1: duplicate key 'a'; line 1 sets it already",
        "6:3: duplicate key 'e'; line 5 sets it already",
    ]
    tree, _ = parse(text, file="f.yaml")
    assert tree is not None
    assert tree.plain() == {"a": 1, "b": {"c": 1}, "d": {"e": 1}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\nb: 1", ["1:1: 'a' has no value; write null to remove what a base sets"]),
        ("a: 1\na:\n", ["2:1: duplicate key 'a'; line 1 sets it already"]),
        ("a: {b: , c: 1}", ["1:5: 'b' has no value; write null to remove what a base sets"]),
        ("? a\n", ["1:3: 'a' has no value; write null to remove what a base sets"]),
        ("a: [1, ]\nb:\n  -\n  - 2\n", ["3:4: an item of this list has no value"]),
    ],
)
def test_half_written_value_is_a_problem_not_a_null(text: str, expected: list[str]) -> None:
    assert lines(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a:\n\t- b\n",
            (
                "2:1: not valid YAML: while scanning for the next token, found character '\\t' that "
                "cannot start any token; indent with spaces"
            ),
        ),
        (
            "a: [1,\n",
            (
                "2:1: not valid YAML: while parsing a flow node, expected the node content, but found "
                "'<stream end>'"
            ),
        ),
        ("a: x: y", "1:5: not valid YAML: mapping values are not allowed here"),
        ("a: 'x\n", "2:1: not valid YAML: while scanning a quoted scalar, found unexpected end of stream"),
        (
            "a: @x",
            (
                "1:4: not valid YAML: while scanning for the next token, found character '@' that "
                "cannot start any token"
            ),
        ),
        ('a: "\\UFFFFFFFF"', "1:1: not valid YAML: an escape is no character"),
        ("ok: 1\na: x\x07y", "2:5: the character U+0007 is not allowed"),
        ("", "1:1: the file is empty; expected a map of keys and values"),
        ("# only a comment\n", "1:1: the file is empty; expected a map of keys and values"),
        ("---\n...\n", "1:1: the file is empty; expected a map of keys and values"),
        ("- a\n- b", "1:1: expected a map of keys and values"),
        ("just text", "1:1: expected a map of keys and values"),
        ("40", "1:1: expected a map of keys and values"),
        ("a: 1\n---\nb: 2\n", "2:1: a second document starts here; a file holds one"),
        ("%YAML 1.1\n---\na: yes\n", "2:1: files are YAML 1.2; remove the %YAML line"),
        ("? [a, b]\n: 1\n", "1:3: a key must be text, not a map or a list"),
        ("? {a: 1}\n: 1\n", "1:3: a key must be text, not a map or a list"),
        ("a: &a x\n*a : 1\n", "2:1: a key must be text, not an alias"),
    ],
)
def test_text_that_cannot_be_read_to_its_end_gives_no_tree(text: str, expected: str) -> None:
    tree, problems = parse(text, file="f.yaml")
    assert tree is None
    assert [str(problem) for problem in problems] == [f"f.yaml:{expected}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: !env HOME", "1:4: tags such as '!env' are not allowed; quote text instead"),
        (
            "a: !!python/name:os.system x",
            "1:4: tags such as 'tag:yaml.org,2002:python/name:os.system' are not allowed; quote text instead",
        ),
        ("a: !!str 1", "1:4: tags such as 'tag:yaml.org,2002:str' are not allowed; quote text instead"),
        ("a: !x [1]", "1:4: tags such as '!x' are not allowed; quote text instead"),
        ("a: 1\n<<: {b: 1}", "2:1: merge keys (<<) are not part of YAML 1.2; use extends"),
        ("1: a", "1:1: the key '1' is not text; quote it"),
        ("true: a", "1:1: the key 'true' is not text; quote it"),
        ("null: a", "1:1: the key 'null' is not text; quote it"),
        (": a", "1:1: the key '' is not text; quote it"),
        ("a: .inf", "1:4: .inf is not a number that can be used here; leave the key out for no limit"),
        ("a: 1e999", "1:4: the number 1e999 is too large; quote it if it is text"),
        ('a: "\\0"', "1:4: text may not hold a null character or half a surrogate pair"),
        ('a: "\\ud800"', "1:4: text may not hold a null character or half a surrogate pair"),
        ('"\\udfff": 1', "1:1: text may not hold a null character or half a surrogate pair"),
    ],
)
def test_dangerous_value_is_refused_and_the_rest_is_read(text: str, expected: str) -> None:
    tree, problems = parse(f"{text}\nrest: [1]", file="f.yaml")
    assert [str(problem) for problem in problems] == [f"f.yaml:{expected}"]
    assert tree is not None
    assert tree.child("rest") is not None


def test_problems_found_before_a_syntax_error_are_kept() -> None:
    assert lines("a: 1\na: 2\nb: [") == [
        "2:1: duplicate key 'a'; line 1 sets it already",
        "3:5: not valid YAML: while parsing a flow node, expected the node content, but found '<stream end>'",
    ]


def test_nesting_is_limited_also_through_aliases() -> None:
    fits = "a: " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert sound(fits).child("a") is not None
    assert lines("a: " + "[" * 5_000) == [f"1:{DEEPEST + 3}: nested more than {DEEPEST} deep"]
    chain = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 40))
    assert lines(chain) == [f"{DEEPEST}:12: nested more than {DEEPEST} deep"]


def test_aliases_that_multiply_are_refused_before_they_grow() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
    )
    found = lines(bomb)
    assert len(found) == 1
    assert found[0].endswith(f"the file holds more than {LARGEST} values")


def test_many_plain_values_are_refused_too() -> None:
    assert lines("a:\n" + "- 1\n" * (LARGEST + 1))[0].endswith(f"the file holds more than {LARGEST} values")


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: *later\nb: &later 1", "*a"])
def test_alias_inside_or_before_its_anchor_is_refused(text: str) -> None:
    tree, problems = parse(text, file="f.yaml")
    assert tree is None
    assert len(problems) == 1
    assert "stands before or inside what" in problems[0].message


def test_long_keys_are_cut_in_messages() -> None:
    (line,) = lines(f"? {'k' * 500}\n: 1\n? {'k' * 500}\n: 2\n")
    assert line.startswith("3:3: duplicate key 'kkk")
    assert len(line) < 150


PLAIN = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9)
# ruamel.yaml writes a key that begins with "?" without quotes and reads it as the mark of a complex key.
WORDS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), exclude_characters="?"), max_size=12
)
VALUES = st.recursive(
    PLAIN | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_what_ruamel_writes_is_read_back(value: dict[str, Any]) -> None:
    stream = io.StringIO()
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.dump(value, stream)
    assert sound(stream.getvalue()).plain() == value


@settings(deadline=None)
@given(st.text(st.sampled_from("ab01:-?[]{},&*!|>'\"%@`#~<= \n\t.\\xuU\0\ud800"), max_size=40))
def test_no_text_makes_the_parser_fail(text: str) -> None:
    tree, problems = parse(text, file="f.yaml")
    assert tree is not None or problems
    assert all(problem.line >= 1 and problem.column >= 1 for problem in problems)

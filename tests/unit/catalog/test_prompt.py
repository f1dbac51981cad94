"""Prompts with variables."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from assistants.loading.node import Node, Place
from assistants.loading.prompt import Prompt
from tests.unit.catalog.deployment import loaded, report, support

PLACE = Place("bases/p.md")


def prompt(text: str, place: Place = PLACE) -> Prompt:
    return Prompt.of(text, place)


def problems(text: str, *names: str, place: Place = PLACE) -> list[str]:
    values = {
        name: Node("x", Place("a.yaml", 3, 20 + 10 * index), Place("a.yaml", 3, 15 + 10 * index))
        for index, name in enumerate(names)
    }
    return [str(problem) for problem in prompt(text, place).problems(values, user="a.yaml")]


def test_variables_are_replaced_with_any_spacing() -> None:
    text = prompt("{{company}}, {{ company }} and {{  town}}")
    assert text.render({"company": "Acme", "town": "Berlin"}) == "Acme, Acme and Berlin"
    assert problems("{{company}} {{  town}}", "company", "town") == []


def test_value_that_looks_like_a_variable_is_not_read_again() -> None:
    assert prompt("{{ a }}{{ b }}").render({"a": "{{ b }}", "b": "\\1"}) == "{{ b }}\\1"


def test_text_is_normalised() -> None:
    assert prompt("one\r\ntwo\rthree  \n\n \t\n").text == "one\ntwo\nthree"
    assert prompt("  indented\n").text == "  indented"


def test_json_braces_are_no_variables() -> None:
    text = 'Answer {"a": {"b": {}}} or {x}'
    assert problems(text) == []
    assert prompt(text).render({}) == text


def test_variable_without_a_value_is_told_where_it_stands() -> None:
    assert problems("# Role\n\nYou: {{ compny }}.", "company") == [
        (
            "bases/p.md:3:6: the variable 'compny' has no value; set it in prompt.vars of a.yaml; did you "
            "mean 'company'?"
        ),
        "a.yaml:3:15: prompt.vars: no variable of the prompt uses 'company'; did you mean 'compny'?",
    ]


def test_value_without_a_variable_is_told_at_its_key() -> None:
    assert problems("{{ a }}", "a", "b") == ["a.yaml:3:25: prompt.vars: no variable of the prompt uses 'b'"]


def test_unreadable_variables_are_told() -> None:
    text = "{{ Two Words }} {{}} {{ a\n}} {{{ a }}} {{ a.b }} {{"
    assert [line.split(":", 3)[1:3] for line in problems(text, "a")] == [
        ["1", "1"],
        ["1", "17"],
        ["1", "22"],
        ["2", "4"],
        ["2", "14"],
        ["2", "24"],
        ["3", "15"],
    ]


def test_text_in_a_yaml_file_is_told_by_the_place_of_the_value() -> None:
    assert problems("one\n{{ x }}", place=Place("a.yaml", 4, 16)) == [
        "a.yaml:4:16: the variable 'x' has no value; set it in prompt.vars of a.yaml"
    ]


def test_empty_prompt_is_a_problem() -> None:
    assert problems(" \n\n") == ["bases/p.md:1:1: the prompt is empty"]


def test_same_prompt_serves_several_assistants_with_their_own_values(tmp_path: Path) -> None:
    one = 'name: one\ngraph: react\nmodel: {name: "openai:x"}\nprompt: {file: p.md, vars: {who: One}}\n'
    files = {
        "tenants/acme/p.md": "I am {{ who }}.\n",
        "tenants/acme/one.yaml": one,
        "tenants/acme/two.yaml": one.replace("one", "two").replace("One", "Two"),
    }
    found = [assistant.context.prompt for assistant in loaded(tmp_path, files).assistants]
    assert found == ["I am One.", "I am Two."]


def test_inherited_value_that_the_new_prompt_does_not_use_can_be_removed(tmp_path: Path) -> None:
    base = {"bases/b.yaml": "prompt: {text: 'Be {{ tone }}.', vars: {tone: kind}}\n"}
    extended = "extends: ../../bases/b.yaml\nprompt: {text: Hello%s}\n"
    assert report(tmp_path, {**base, **support(extended % "")}) == [
        "bases/b.yaml:1:41: prompt.vars: no variable of the prompt uses 'tone'"
    ]
    assert report(tmp_path, {**base, **support(extended % ", vars: {tone: null}")}) == []


def test_prompt_has_either_a_file_or_a_text(tmp_path: Path) -> None:
    both = {"tenants/acme/p.md": "x", **support("prompt: {file: p.md, text: y}\n")}
    (line,) = report(tmp_path, both)
    assert line.startswith(
        "tenants/acme/support.yaml:4:9: prompt: expected either file or text; set the other"
    )


def test_prompt_file_must_be_markdown_of_the_tenant_or_shared(tmp_path: Path) -> None:
    other = {
        "tenants/globex/tenant.yaml": "slug: globex\nring: late\ntimezone: UTC\n",
        "tenants/globex/p.md": "x",
        "tenants/acme/p.txt": "x",
    }
    for named, reason in {
        "../globex/p.md": "the file belongs to a tenant; share it from bases/ instead",
        "p.txt": "'p.txt' does not end in .md",
        "tenant.yaml": "'tenant.yaml' does not end in .md",
        "pp.md": "there is no file 'pp.md'",
    }.items():
        assert report(tmp_path, {**other, **support(f"prompt: {{file: {named}}}\n")}) == [
            f"tenants/acme/support.yaml:4:16: prompt.file: {reason}"
        ]


def test_prompt_that_is_no_text_is_reported_at_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "tenants/acme").mkdir(parents=True)
    (tmp_path / "tenants/acme/p.md").write_bytes(b"caf\xe9")
    assert report(tmp_path, support("prompt: {file: p.md}\n")) == [
        "tenants/acme/p.md:1:4: is not UTF-8; save it as UTF-8"
    ]


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8"), max_size=8)
PIECES = st.lists(
    st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="{}\r"), max_size=6), NAMES)
)


@settings(deadline=None)
@given(PIECES, st.data())
def test_rendering_joins_text_and_values(pieces: list[tuple[str, str]], data: st.DataObject) -> None:
    values = {name: data.draw(VALUES) for _, name in pieces}
    text = "".join(f"{before}{{{{ {name} }}}}" for before, name in pieces) + "."
    assert prompt(text).render(values) == "".join(before + values[name] for before, name in pieces) + "."

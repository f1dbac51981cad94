"""A document is cut at its headings, and each piece can be cited."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge.sections import Section, slug, split

GUIDE = """\
Read this first.

# Guide

General words.

## Returns & exchange ##

Send it back.
Soon.

### Shoes

Try them indoors.

## Empty

## Returns & exchange

Again.
"""


def texts(document: str, markdown: str) -> list[tuple[str, str]]:
    return [(section.citation, section.text) for section in split(document, markdown)]


def test_each_heading_starts_a_section_and_empty_ones_are_left_out() -> None:
    assert texts("guide.md", GUIDE) == [
        ("guide.md", "Read this first."),
        ("guide.md#guide", "General words."),
        ("guide.md#returns--exchange", "Send it back.\nSoon."),
        ("guide.md#shoes", "Try them indoors."),
        ("guide.md#returns--exchange-1", "Again."),
    ]


def test_a_section_knows_the_headings_above_it() -> None:
    paths = {section.anchor: section.path for section in split("guide.md", GUIDE)}
    assert paths["guide"] == ("Guide",)
    assert paths["shoes"] == ("Guide", "Returns & exchange", "Shoes")
    assert paths["returns--exchange-1"] == ("Guide", "Returns & exchange")
    assert paths[""] == ()


def test_the_heading_is_one_line() -> None:
    section = split("guide.md", GUIDE)[3]
    assert section == Section(
        document="guide.md",
        path=("Guide", "Returns & exchange", "Shoes"),
        anchor="shoes",
        text="Try them indoors.",
        language="en",
    )
    assert section.heading == "Guide › Returns & exchange › Shoes"


def test_a_skipped_level_hangs_below_the_last_heading() -> None:
    [_title, deep] = split("a.md", "# A\nx\n### C\ny")
    assert deep.path == ("A", "C")


def test_a_heading_of_the_same_level_replaces_the_one_before() -> None:
    paths = [section.path for section in split("a.md", "# A\nx\n## B\ny\n### C\nz\n## D\nw\n# E\nv")]
    assert paths == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_heading_inside_code_is_text(fence: str) -> None:
    [section] = split("a.md", f"# Real\n{fence}\n# not a heading\n{fence}\nafter")
    assert section.anchor == "real"
    assert "# not a heading" in section.text


def test_a_fence_ends_only_with_its_own_kind() -> None:
    [section] = split("a.md", "# Real\n```\n~~~\n# still code\n```\nafter")
    assert section.text.endswith("after")
    assert "# still code" in section.text


@pytest.mark.parametrize("line", ["#no space", "####### seven", "    # code", "\\# escaped", "text # not"])
def test_what_only_looks_like_a_heading_is_text(line: str) -> None:
    [section] = split("a.md", f"# Real\n{line}")
    assert section.text == line.strip()


@pytest.mark.parametrize("markdown", ["", "\n\n", "# Only a title", "# A\n## B\n### C\n"])
def test_a_document_without_text_has_no_sections(markdown: str) -> None:
    assert split("a.md", markdown) == ()


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Return period", "return-period"),
        ("Opening hours & contact", "opening-hours--contact"),
        ("What's not covered?", "whats-not-covered"),
        ("退货期限", "退货期限"),
        ("瓷器碎了、破损如何理赔", "瓷器碎了破损如何理赔"),
        ("Rückgabe und Umtausch", "rückgabe-und-umtausch"),
        ("  two_words - 3 %  ", "two_words---3-"),
        ("!!!", ""),
    ],
)
def test_a_slug_is_what_git_hosts_make_of_a_heading(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor


def test_a_heading_without_a_slug_is_cited_by_its_document() -> None:
    [section] = split("a.md", "# !!!\ntext")
    assert section.citation == "a.md"


@pytest.mark.parametrize(
    ("document", "markdown", "language"),
    [
        ("returns.zh.md", "# Returns\nEnglish words all over the text", "zh"),
        ("returns.de.md", "# 退货\n退货期限", "de"),
        ("returns.en.md", "# 退货\n退货期限", "en"),
        ("returns.md", "# 退货\n退货期限三十天", "zh"),
        ("returns.md", "# Returns\nYou can return it within the period", "en"),
        ("returns.fr.md", "# Returns\nYou can return it within the period", "en"),
    ],
)
def test_the_language_is_named_by_the_file_or_read_off_the_text(
    document: str, markdown: str, language: str
) -> None:
    [section] = split(document, markdown)
    assert section.language == language


@given(
    st.lists(
        st.tuples(
            st.integers(min_value=1, max_value=6),
            st.text(alphabet="ab退", min_size=1),
            st.text(alphabet="xy货 \n").map(str.strip),
        ),
        max_size=8,
    )
)
def test_every_text_is_found_again_below_its_heading(parts: list[tuple[int, str, str]]) -> None:
    markdown = "\n".join(f"{'#' * level} {heading}\n{body}" for level, heading, body in parts)
    found = [(section.path[-1], section.text) for section in split("a.md", markdown)]
    assert found == [(heading, body) for _level, heading, body in parts if body]


@given(st.lists(st.sampled_from(["Same", "same", "Same 1", "same-1", "Other", "退货"]), max_size=12))
def test_anchors_of_a_document_differ(headings: list[str]) -> None:
    markdown = "\n".join(f"# {heading}\ntext" for heading in headings)
    anchors = [section.anchor for section in split("a.md", markdown)]
    assert len(anchors) == len(headings)
    assert len(set(anchors)) == len(anchors)

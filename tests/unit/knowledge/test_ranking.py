"""Sections are ranked by BM25, and a question that none answers gets none."""

from __future__ import annotations

import io
import logging
import math
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge.ranking import Hit, Ranking
from agent.knowledge.sections import Section, split
from agent.knowledge.words import Language, tokens

HANDBOOK = """\
# Shop

## Returns

Goods can be returned within thirty days. A return label is free.

## Refunds

The money is refunded five days after the goods arrive.

## Shipping

Parcels travel with a carrier for three days.

## Kettles

Descale a kettle with citric acid. A kettle is covered for three years.

## Opening hours

The shop is open on weekdays.
"""


def section(text: str, *, name: str = "a", document: str = "a.md", language: Language = "en") -> Section:
    return Section(document=document, path=("Title", name), anchor=name, text=text, language=language)


def anchors(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.section.anchor for hit in hits]


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    return Ranking(split("shop.md", HANDBOOK))


@pytest.mark.parametrize(
    ("question", "anchor"),
    [
        ("Can I return this?", "returns"),
        ("when is the money refunded", "refunds"),
        ("which carrier takes the parcel", "shipping"),
        ("how to descale my kettle", "kettles"),
        ("opening hours", "opening-hours"),
        ("RETURNED", "returns"),
    ],
)
def test_the_section_that_answers_comes_first(ranking: Ranking, question: str, anchor: str) -> None:
    assert anchors(ranking.search(question, limit=3))[0] == anchor


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "tell me a joke",
        "write a poem about a carrier pigeon over the stormy sea",
        "今天天气怎么样",
        "how is it going",
        "",
        "   ",
        "?!",
    ],
)
def test_a_question_that_no_section_answers_gets_nothing(ranking: Ranking, question: str) -> None:
    assert ranking.search(question, limit=3) == ()


def test_scores_fall_and_weak_company_is_left_out(ranking: Ranking) -> None:
    hits = ranking.search("goods", limit=10)
    assert set(anchors(hits)) == {"returns", "refunds"}
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] >= 0.4 * scores[0]
    assert anchors(ranking.search("descale a kettle for the shop", limit=10)) == ["kettles"]


def test_the_limit_keeps_the_best(ranking: Ranking) -> None:
    every = ranking.search("goods", limit=10)
    assert len(every) == 2
    assert ranking.search("goods", limit=1) == every[:1]


def test_a_word_in_the_heading_beats_one_in_the_text() -> None:
    ranking = Ranking(
        [
            section("Something about a warranty and other things.", name="Other"),
            section("Something about a coverage and other things.", name="Warranty"),
            section("Nothing of it.", name="Third"),
        ]
    )
    assert anchors(ranking.search("warranty", limit=2)) == ["Warranty", "Other"]


def test_a_rare_word_weighs_more_than_a_frequent_one() -> None:
    sections = [section(f"common words number{index}", name=f"s{index}") for index in range(8)]
    ranking = Ranking([*sections, section("common zebra", name="zebra")])
    assert anchors(ranking.search("common zebra", limit=3))[0] == "zebra"
    assert anchors(ranking.search("zebra quokka", limit=3)) == ["zebra"]
    assert ranking.search("common quokka wombat", limit=3) == ()


def test_a_section_needs_a_fair_share_of_the_question() -> None:
    ranking = Ranking(
        [section("alpha beta"), section("gamma delta", name="b"), section("omega psi", name="c")]
    )
    assert anchors(ranking.search("alpha beta", limit=3)) == ["a"]
    assert anchors(ranking.search("alpha beta zeta", limit=3)) == ["a"]
    assert ranking.search("alpha zeta eta theta", limit=3) == ()


def test_between_equals_the_questions_language_comes_first() -> None:
    text = "DHL DPD Hermes"
    ranking = Ranking(
        [
            section(text, document="a.md", language="en"),
            section(text, document="b.md", language="de"),
            section(text, document="c.md", language="zh"),
            section("unrelated", name="x"),
        ]
    )
    assert ranking.search("what is DHL", limit=3)[0].section.language == "en"
    assert ranking.search("was ist DHL", limit=3)[0].section.language == "de"
    assert ranking.search("DHL 是什么", limit=3)[0].section.language == "zh"


def test_a_much_better_answer_in_another_language_still_wins() -> None:
    ranking = Ranking(
        [
            section("DHL DHL DHL", name="DHL", document="a.zh.md", language="zh"),
            section("many other words of a text in which DHL is named once among them all", name="x"),
            section("unrelated", name="y"),
        ]
    )
    assert ranking.search("what is DHL", limit=3)[0].section.document == "a.zh.md"


def test_ties_are_broken_by_document_and_anchor() -> None:
    same = [section("alpha", name=name, document=doc) for doc in ("b.md", "a.md") for name in ("y", "x")]
    hits = Ranking([*same, section("omega", name="z")]).search("alpha", limit=4)
    assert [hit.section.citation for hit in hits] == ["a.md#x", "a.md#y", "b.md#x", "b.md#y"]
    assert len({hit.score for hit in hits}) == 1


def test_the_score_is_that_of_bm25() -> None:
    """Lucene's BM25 (k1 = 1.5, b = 0.75), computed here from its formula."""
    texts = ("alpha beta", "beta gamma gamma", "delta")
    sections = [
        Section(document="a.md", path=(), anchor=str(index), text=text, language="en")
        for index, text in enumerate(texts)
    ]
    [hit] = Ranking(sections).search("gamma", limit=3)
    rarity = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    length = 3 / ((2 + 3 + 1) / 3)
    assert hit.score == pytest.approx(rarity * 2 / (2 + 1.5 * (1 - 0.75 + 0.75 * length)), rel=1e-6)


def test_a_handbook_without_words_answers_nothing() -> None:
    assert Ranking([]).search("anything at all returns", limit=3) == ()
    assert Ranking([section("…", name="!"), section("the of and", name="?")]).search("title", limit=3) != ()
    wordless = Section(document="a.md", path=(), anchor="", text="of the", language="en")
    assert Ranking([wordless]).search("the", limit=3) == ()
    assert Ranking([wordless]).search("returns", limit=3) == ()


def test_indexing_prints_logs_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), caplog.at_level(logging.DEBUG):
        assert Ranking(split("shop.md", HANDBOOK)).search("kettle", limit=1)
    assert (out.getvalue(), err.getvalue()) == ("", "")
    assert list(tmp_path.iterdir()) == []
    assert [record.name for record in caplog.records if record.name.startswith("bm25s")] == []


@given(st.text())
def test_any_question_can_be_asked(question: str) -> None:
    ranking = Ranking(split("shop.md", HANDBOOK))
    hits = ranking.search(question, limit=3)
    assert len(hits) <= 3
    asked = set(tokens(question))
    for hit in hits:
        assert asked & set(tokens(f"{hit.section.heading} {hit.section.text}", singles=True))

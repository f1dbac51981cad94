"""Words of English and Chinese, and what they stand for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.offline.rules.lexicon import CHINESE_READING, CONCEPTS, PHRASES, READING, RELATED, STOPWORDS
from agent.offline.rules.words import (
    concept,
    first_term,
    identifier,
    language,
    negated,
    plural,
    reading,
    related,
    terms,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Hello", "en"), ("", "en"), ("1001", "en"), ("你好", "zh"), ("order 订单", "zh"), ("naïve café", "en")],
)
def test_language_is_chinese_with_any_chinese_character(text: str, expected: str) -> None:
    assert language(text) == expected


@pytest.mark.parametrize(
    ("english", "chinese", "shared"),
    [
        ("order", "订单", "order"),
        ("purchases", "下单的订单", "order"),
        ("refund", "退款", "refund"),
        ("money back", "退钱", "refund"),
        ("customer", "客户", "customer"),
        ("inventory", "库存", "stock"),
        ("return", "退货", "return"),
        ("warranty", "保修", "warranty"),
        ("shipping", "送货", "delivery"),
        ("parcel", "快递", "delivery"),
        ("manual", "手册", "handbook"),
        ("policies", "政策", "policy"),
        ("broken", "破损", "damage"),
    ],
)
def test_english_and_chinese_words_meet_in_one_concept(english: str, chinese: str, shared: str) -> None:
    assert shared in terms(english)
    assert shared in terms(chinese)


def test_words_that_decide_nothing_are_left_out() -> None:
    assert terms("Could you please tell me where my order is?") == {"order"}
    assert terms("请问我的订单在哪里？") == {"order"}


def test_numbers_are_words_but_no_terms() -> None:
    assert [word.text for word in words("order 1001")] == ["order", "1001"]
    assert terms("order 1001") == {"order"}


def test_chinese_is_cut_by_the_longest_known_words() -> None:
    found = words("列出已发货的订单")

    assert [(word.text, word.term, word.kind) for word in found] == [
        ("列出", "list", "reading"),
        ("已发货", "shipped", "content"),
        ("的", "的", "stop"),
        ("订单", "order", "content"),
    ]


def test_unknown_chinese_stays_together_and_counts_by_pairs() -> None:
    assert [word.text for word in words("蓝色水壶还有库存吗")] == ["蓝色水壶", "还有", "库存", "吗"]
    assert terms("蓝色水壶") == {"蓝色", "色水", "水壶"}
    assert terms("李雷") == {"李雷"}


@given(st.text(alphabet="abC1 ,.-'’@订单退货的蓝é", max_size=30))
def test_words_are_slices_of_the_text_in_order(text: str) -> None:
    found = words(text)

    assert all(text[word.start : word.end] == word.text for word in found)
    assert all(first.end <= second.start for first, second in pairwise(found))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("orders_get", ["orders", "get"]),
        ("unitPrice", ["unit", "price"]),
        ("WeatherReport", ["weather", "report"]),
        ("kb-search.v2", ["kb", "search", "v2"]),
        ("", []),
    ],
)
def test_identifiers_are_cut_at_marks_and_humps(name: str, parts: list[str]) -> None:
    assert identifier(name) == parts


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Orders", "order"),
        ("kettles", "kettle"),
        ("entries", "entry"),
        ("boxes", "box"),
        ("glass", "glass"),
        ("status", "status"),
        ("analysis", "analysis"),
        ("matches", "match"),
        ("bus", "bus"),
        ("ties", "tie"),
        ("axes", "axe"),
    ],
)
def test_concept_of_an_unknown_word_is_its_singular(word: str, expected: str) -> None:
    assert concept(word) == expected


def test_related_concepts_lead_from_a_topic_to_the_handbook() -> None:
    assert related({"warranty"}) == {"policy", "handbook"}
    assert related({"policy"}) == {"handbook"}
    assert related({"order"}) == set()


def test_verbs_of_reading_are_known_in_both_languages() -> None:
    assert reading("Show me and find it") == {"show", "find"}
    assert reading("查一下所有订单") == {"find", "list"}


@pytest.mark.parametrize(
    ("text", "expected"), [("which orders", True), ("my kettles", True), ("my order", False), ("订单", False)]
)
def test_plural_is_heard(text: str, *, expected: bool) -> None:
    assert plural(text) is expected


def test_first_term_is_the_verb_of_an_order() -> None:
    assert first_term("Please cancel order 1001") == "cancel"
    assert first_term("取消订单") == "cancel"
    assert first_term("what is it") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't refund it", True),
        ("please do not refund order 1001", True),
        ("不要给订单1001退款", True),
        ("refund it", False),
        ("I did not get it, so refund me", False),
        ("do not refund 1001 but refund 1002", False),
        ("where is it", False),
    ],
)
def test_negation_counts_right_before_the_verb(text: str, *, expected: bool) -> None:
    assert negated(text, {"refund"}) is expected


def test_lexicon_has_no_form_twice_and_no_dead_entry() -> None:
    forms = [form for listed in CONCEPTS.values() for form in listed.split()]

    assert len(forms) == len(set(forms))
    assert [name for name in CONCEPTS if concept(name) != name] == []
    assert not set(forms) & READING
    assert set(PHRASES.values()) <= set(CONCEPTS)
    assert set(RELATED) | set(RELATED.values()) <= set(CONCEPTS)
    assert set(CHINESE_READING.values()) <= READING
    assert not {form for form in forms if form.isascii()} & STOPWORDS

"""Words of one meaning become one token, in languages with and without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.knowledge.words import Language, is_pair, language_of, tokens


@pytest.mark.parametrize(
    "forms",
    [
        ("ship", "ships", "shipped", "shipping"),
        ("return", "returns", "returned", "returning"),
        ("delivery", "deliveries", "delivered", "delivering"),
        ("exchange", "exchanges", "exchanged", "exchanging"),
        ("warranty", "warranties"),
        ("kettle", "kettles", "kettle's", "kettle’s", "KETTLES"),
        ("damage", "damages", "damaged"),
        ("glass", "glasses"),
        ("wash", "washes", "washed", "washing"),
        ("refund", "refunds", "refunded"),
    ],
    ids=lambda forms: forms[0],
)
def test_forms_of_one_word_are_one_token(forms: tuple[str, ...]) -> None:
    stems = {tokens(form) for form in forms}
    assert len(stems) == 1
    assert len(stems.pop()) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bus", "bu"),
        ("tennis", "tenni"),
        ("day", "da"),
        ("size", "siz"),
        ("free", "fre"),
        ("bed", "b"),
        ("king", "k"),
    ],
)
def test_short_words_keep_their_endings(one: str, other: str) -> None:
    assert tokens(one) == (one,)
    assert tokens(one) != tokens(other)


@pytest.mark.parametrize(
    "text",
    [
        "How long do I have to wait for it?",
        "can't you tell me, please",
        "Was ist das und wo ist es?",
        "你们可以吗",
        "",
        "…!?",
    ],
)
def test_function_words_and_signs_carry_no_topic(text: str) -> None:
    found = tokens(text)
    assert found in {(), ("wait",)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The kettle, 1.7 l", ("kettl", "1", "7", "l")),
        ("Wie lange ist die Rückgabefrist?", ("rückgabefrist",)),
        ("pu-erh tea", ("pu", "erh", "tea")),
        ("ＤＨＬ　Ｐａｋｅｔ", ("dhl", "paket")),
        ("退货", ("退货",)),
        ("退货期限", ("退货", "货期", "期限")),
        ("可以退货吗？", ("退货",)),
        ("退货要多少天", ("退货", "天")),
        ("茶杯可以放洗碗机吗", ("茶杯", "放洗", "洗碗", "碗机")),
        ("DHL包裹丢了怎么办", ("dhl", "包裹", "裹丢")),
        ("snake_case", ("snak", "case")),
    ],
)
def test_a_text_becomes_the_words_that_carry_its_topic(text: str, found: tuple[str, ...]) -> None:
    assert tokens(text) == found


def test_a_text_that_is_searched_also_has_its_characters_one_by_one() -> None:
    assert tokens("30 天内退货", singles=True) == ("30", "天内", "内退", "退货", "天", "内", "退", "货")
    assert tokens("茶", singles=True) == ("茶",)
    assert tokens("returns", singles=True) == ("return",)


def test_a_pair_is_two_ideographs() -> None:
    assert is_pair("退货")
    assert not is_pair("退")
    assert not is_pair("ab")
    assert not is_pair("kettl")


@given(st.text())
def test_any_text_can_be_read_twice_alike(text: str) -> None:
    found = tokens(text)
    assert found == tokens(text)
    assert all(word and word == word.strip() for word in found)


@given(st.text(alphabet="退货换期限运费包裹"))
def test_what_is_asked_is_part_of_what_is_searched(text: str) -> None:
    assert set(tokens(text)) <= set(tokens(text, singles=True))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I return a parcel?", "en"),
        ("Wie kann ich ein Paket zurückgeben?", "de"),
        ("如何退货", "zh"),
        ("DHL 包裹丢了怎么办", "zh"),
        ("The word 茶 means tea in many languages of the world", "en"),
        ("DHL", "en"),
        ("", "en"),
        ("die das der the", "de"),
    ],
)
def test_the_language_is_read_off_script_and_function_words(text: str, language: Language) -> None:
    assert language_of(text) == language

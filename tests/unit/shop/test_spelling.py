"""Folded text is the same however a name is typed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.shop.spelling import fold, plain, words


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Müller", "muller"),
        ("MULLER", "muller"),
        ("Özdemir  ŁUCJA", "ozdemir lucja"),
        ("Işıl", "isil"),
        ("IŞIL", "isil"),
        ("Straße", "strasse"),
        ("Gołębiowicz", "golebiowicz"),
        ("Éloïse\tNadège", "eloise nadege"),
        ("沈雨薇", "沈雨薇"),
        ("ＡＣＭ－０１", "acm-01"),
        ("Mu\u0308ller", "muller"),
        ("  ", ""),
        ("", ""),
        ("a\x00b", "a b"),
        ("smørrebrød", "smorrebrod"),
    ],
)
def test_spellings_of_one_name_become_one(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(st.characters(codec="utf-8")))
def test_composed_and_decomposed_text_fold_alike(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


@given(st.text())
def test_plain_text_can_be_stored_anywhere(text: str) -> None:
    stored = plain(text)
    assert stored.isprintable()
    assert stored.encode("utf-8").decode("utf-8") == stored
    assert stored == stored.strip()
    assert "  " not in stored


def test_plain_keeps_what_can_be_read() -> None:
    assert plain("  Late –\n5 days \ud800 too late\x00") == "Late – 5 days too late"


def test_words_are_folded_one_by_one() -> None:
    assert words("  Nilay BOZDAĞ ") == ("nilay", "bozdag")
    assert words(" \t ") == ()

"""The word that was probably meant."""

from __future__ import annotations

from assistants.loading.suggestion import closest, did_you_mean

WORDS = ("orders.get", "orders.refund", "kb.search")


def test_close_word_is_suggested() -> None:
    assert did_you_mean("order.refund", WORDS) == "; did you mean 'orders.refund'?"
    assert closest("kbsearch", WORDS) == "kb.search"


def test_few_options_are_listed_when_none_is_close() -> None:
    assert did_you_mean("xyz", WORDS) == "; expected one of kb.search, orders.get, orders.refund"
    assert closest("xyz", WORDS) is None


def test_nothing_is_said_without_options_or_with_too_many() -> None:
    assert did_you_mean("xyz", ()) == ""
    assert did_you_mean("xyz", [f"{letter}-option" for letter in "abcdefghijklm"]) == ""


def test_long_words_are_compared_by_their_beginning() -> None:
    assert closest("orders.get" + "x" * 100_000, WORDS) is None

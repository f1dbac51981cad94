"""A long result is shown by its head and tail, cut where no character is split, and says how to read on."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.page import READER, after, before, capped, cuttable

LINE = re.compile(
    r"\n… (\d+) characters are left out here; to read on, "
    r'call results_read with call "call_1", offset (\d+)\. …\n'
)
GONE = re.compile(r"\n… (\d+) characters are left out here; they are not available\. …\n")


def split(text: str, *, readable: bool = True) -> tuple[str, str, list[int]]:
    """The head, the tail, and the numbers in the line between."""
    pattern = LINE if readable else GONE
    (match,) = pattern.finditer(text)
    return text[: match.start()], text[match.end() :], [int(number) for number in match.groups()]


@pytest.mark.parametrize("length", [0, 1, 99, 100])
def test_a_text_that_fits_is_itself(length: int) -> None:
    text = "a" * length
    assert capped(text, cap=100, call_id="call_1", readable=True) is text


def test_head_and_tail_are_three_to_one_and_the_line_says_how_to_read_on() -> None:
    text = "h" * 500 + "t" * 500
    assert capped(text, cap=100, call_id="call_1", readable=True) == (
        f"{'h' * 75}\n… 900 characters are left out here; to read on, call results_read with call "
        f'"call_1", offset 75. …\n{"t" * 25}'
    )


def test_the_line_names_the_tool_as_the_wire_does() -> None:
    assert READER == "results.read"
    assert "results_read" in capped("x" * 9, cap=4, call_id="c", readable=True)


def test_without_a_way_to_read_on_the_line_says_so() -> None:
    text = "h" * 500 + "t" * 500
    assert capped(text, cap=100, call_id="call_1", readable=False) == (
        f"{'h' * 75}\n… 900 characters are left out here; they are not available. …\n{'t' * 25}"
    )


def test_a_call_id_stays_on_its_line_and_in_its_quotes() -> None:
    shown = capped("x" * 100, cap=10, call_id='a"\nobey', readable=True)
    assert shown.count("\n") == 2
    assert r'call "a\"\nobey", offset' in shown


@given(
    st.text(
        st.sampled_from("ab \n\u0301\u200d\u00e9订\U0001f600\U0001f3fd\U0001f1e9\ud83d\ude00\r"), max_size=90
    ),
    st.integers(0, 60),
    st.booleans(),
)
def test_nothing_is_counted_wrong_and_the_cap_holds(text: str, cap: int, readable: bool) -> None:  # noqa: FBT001
    shown = capped(text, cap=cap, call_id="call_1", readable=readable)
    if len(text) <= cap:
        assert shown is text
        return
    head, tail, numbers = split(shown, readable=readable)
    assert len(head) + len(tail) <= cap
    assert text.startswith(head)
    assert text.endswith(tail)
    assert numbers[0] == len(text) - len(head) - len(tail)
    assert not readable or numbers[1] == len(head)


E_ACUTE, FAMILY, FLAGS = "e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea" * 2
HALVES = "\ud83d\ude00"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("ab", [0, 1, 2]),
        (f"a{E_ACUTE}b", [0, 1, 3, 4]),
        (HALVES, [0, 2]),
        ("\ud83dx\ude00", [0, 1, 2, 3]),
        (FAMILY, [0, 5]),
        ("\U0001f44d\U0001f3fd!", [0, 2, 3]),
        (FLAGS, [0, 2, 4]),
        ("\u2764\ufe0f", [0, 2]),
        ("a\r\nb", [0, 1, 3, 4]),
        ("\u1112\u1161\u11ab", [0, 3]),
        ("订单", [0, 1, 2]),
    ],
)
def test_a_cut_splits_no_character_that_a_reader_sees(text: str, places: list[int]) -> None:
    assert [index for index in range(len(text) + 1) if cuttable(text, index)] == places


def test_a_cut_moves_inwards_so_that_the_cap_holds() -> None:
    text = "x" * 73 + E_ACUTE * 500
    head, tail, _ = split(capped(text, cap=100, call_id="call_1", readable=True))
    assert (len(head), len(tail)) == (75, 24)
    head, tail, _ = split(capped("x" * 74 + E_ACUTE * 500, cap=100, call_id="call_1", readable=True))
    assert (len(head), len(tail)) == (74, 24)
    assert unicodedata.combining(tail[0]) == 0


def test_a_pair_of_surrogates_stays_whole() -> None:
    head, tail, _ = split(capped(HALVES * 500, cap=101, call_id="call_1", readable=True))
    assert head == HALVES * 38
    assert tail == HALVES * 12
    assert len(head) + len(tail) <= 101


def test_an_endless_sequence_is_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 1_000
    head, tail, numbers = split(capped(text, cap=100, call_id="call_1", readable=True))
    assert (len(head), len(tail), numbers[0]) == (75, 25, 901)
    assert before(text, 500) == 500
    assert after(text, 500) == 500


def test_places_near_are_found_in_their_direction() -> None:
    text = f"ab{E_ACUTE}cd"
    assert [before(text, 3), after(text, 3)] == [2, 4]
    assert [before(text, 2), after(text, 2)] == [2, 2]
    assert [before(text, 0), after(text, len(text))] == [0, len(text)]

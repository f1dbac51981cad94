"""What a call returned can be read on and searched, by the thread that made the call and nobody else."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent.ledger import Ledger
from agent.ledger.results import CAP
from agent.tools.page import capped
from agent.tools.registry import Registry
from agent.tools.results import LONGEST, MOST, _folded, register  # pyright: ignore[reportPrivateUsage]
from tests.unit.tools.invoking import call, failure, invoke

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
TEXT = "".join(f"line {number:05}\n" for number in range(2_000))


@pytest.fixture
def registry(ledger: Ledger) -> Registry:
    registry = Registry()
    register(registry, ledger=ledger)
    return registry


async def stored(ledger: Ledger, text: str, *, tenant: str = "acme", thread: str = "t1") -> None:
    """Keep the text as the result of call `big` of the thread."""
    assert await ledger.results.put(tenant, thread=thread, call_id="big", text=text, outcome="ok", now=NOW)


class TestRead:
    async def test_the_first_page_and_where_the_next_one_begins(
        self, registry: Registry, ledger: Ledger
    ) -> None:
        await stored(ledger, TEXT)
        assert await invoke(registry, "results.read", call="big") == {
            "call": "big",
            "offset": 0,
            "text": TEXT[:8_000],
            "total": 22_000,
            "next_offset": 8_000,
        }

    async def test_pages_make_the_whole(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, TEXT)
        offset: int | None = 0
        pages: list[str] = []
        while offset is not None:
            page = await invoke(registry, "results.read", call="big", offset=offset, length=9_000)
            assert page["offset"] == offset
            pages.append(page["text"])
            offset = page["next_offset"]
        assert [len(page) for page in pages] == [9_000, 9_000, 4_000]
        assert "".join(pages) == TEXT

    async def test_the_line_in_a_shortened_result_leads_on_without_a_gap(
        self, registry: Registry, ledger: Ledger
    ) -> None:
        await stored(ledger, TEXT)
        shown = capped(TEXT, cap=1_000, call_id="big", readable=True)
        head, line, _ = shown.split("\n… ")[0], shown.split("\n… ")[1].split(" …\n")[0], None
        assert line == (
            '21000 characters are left out here; to read on, call results_read with call "big", offset 750.'
        )
        page = await invoke(registry, "results.read", call="big", offset=750, length=100)
        assert head + page["text"] == TEXT[:850]

    async def test_the_end(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, TEXT)
        page = await invoke(registry, "results.read", call="big", offset=21_999, length=5)
        assert (page["text"], page["next_offset"]) == ("\n", None)
        page = await invoke(registry, "results.read", call="big", offset=21_990, length=10)
        assert (len(page["text"]), page["next_offset"]) == (10, None)

    async def test_behind_the_end(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, TEXT)
        assert await failure(registry, "results.read", call="big", offset=22_000) == (
            "Offset 22000 is behind the end: of the result of call 'big' 22000 characters can be read. "
            "Give an offset from 0 to 21999."
        )

    async def test_an_empty_result_is_an_empty_page(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, "")
        page = await invoke(registry, "results.read", call="big")
        assert (page["text"], page["total"], page["next_offset"]) == ("", 0, None)
        assert "from 0 to 0" in await failure(registry, "results.read", call="big", offset=1)

    async def test_a_result_of_which_only_the_beginning_was_kept_says_so(
        self, registry: Registry, ledger: Ledger
    ) -> None:
        await stored(ledger, "x" * (CAP + 5))
        page = await invoke(registry, "results.read", call="big", offset=CAP - 1)
        assert page == {
            "call": "big",
            "offset": CAP - 1,
            "text": "x",
            "total": CAP + 5,
            "next_offset": None,
            "note": "Only the first 1000000 of 1000005 characters are kept; the rest is lost.",
        }
        assert "can be read" in await failure(registry, "results.read", call="big", offset=CAP)

    @pytest.mark.parametrize("text", ["\n" * 40_000, "\x01" * 40_000, '"\\' * 20_000, "e\u0301" * 20_000])
    async def test_a_page_fits_its_cap_whatever_it_holds(
        self, registry: Registry, ledger: Ledger, text: str
    ) -> None:
        """`invoke` checks the cap; a page that the guard cut again would have a hole."""
        await stored(ledger, text)
        page = await invoke(registry, "results.read", call="big", length=LONGEST)
        assert 2_000 < len(page["text"]) == page["next_offset"]
        assert len(json.dumps(page["text"], ensure_ascii=False)) <= LONGEST
        assert len(page["text"]) % 2 == 0 or "e" not in text

    async def test_a_page_ends_between_characters(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, "e\u0301" * 100)
        page = await invoke(registry, "results.read", call="big", length=11)
        assert (page["text"], page["next_offset"]) == ("e\u0301" * 5, 10)
        page = await invoke(registry, "results.read", call="big", offset=10, length=1)
        assert (page["text"], page["next_offset"]) == ("e", 11)


class TestFind:
    async def test_places_with_what_stands_around(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, f"{'a ' * 100}Invoice\n\n 4711 {'b ' * 100}INVOICE 4712")
        found = await invoke(registry, "results.find", call="big", text="invoice")
        assert found["total"] == 427
        assert found["more"] is False
        assert [place["offset"] for place in found["places"]] == [200, 415]
        assert found["places"][0]["around"] == f"{'a ' * 40}Invoice 4711 {'b ' * 35}b"
        assert found["places"][1]["around"].endswith("b INVOICE 4712")

    async def test_a_place_can_be_read_on_from(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, TEXT)
        found = await invoke(registry, "results.find", call="big", text="LINE 01999")
        (place,) = found["places"]
        page = await invoke(registry, "results.read", call="big", offset=place["offset"])
        assert page["text"] == "line 01999\n"

    async def test_at_most_twenty_places_and_whether_there_are_more(
        self, registry: Registry, ledger: Ledger
    ) -> None:
        await stored(ledger, "word " * MOST)
        found = await invoke(registry, "results.find", call="big", text="word")
        assert ([place["offset"] for place in found["places"]], found["more"]) == ([*range(0, 100, 5)], False)

    async def test_one_more_than_that(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, "word " * (MOST + 1))
        found = await invoke(registry, "results.find", call="big", text="word")
        assert (len(found["places"]), found["more"]) == (MOST, True)

    async def test_chinese_and_characters_that_mean_something_elsewhere(
        self, registry: Registry, ledger: Ledger
    ) -> None:
        await stored(ledger, "\u0130\u0130 退款 (a+b)* ΟΔΟΣ.")
        offsets: dict[str, int] = {}
        for word in ("退款", "(A+B)*", "οδος", "οδοσ", "\u0130 退"):
            found = await invoke(registry, "results.find", call="big", text=word)
            (place,) = found["places"]
            offsets[word] = place["offset"]
        assert offsets == {"退款": 3, "(A+B)*": 6, "οδος": 13, "οδοσ": 13, "\u0130 退": 1}

    async def test_a_word_that_is_not_there(self, registry: Registry, ledger: Ledger) -> None:
        await stored(ledger, TEXT)
        assert await failure(registry, "results.find", call="big", text="nowhere") == (
            "'nowhere' does not occur in the result of call 'big'. Try another word or a part of it."
        )

    async def test_words_behind_what_was_kept_are_not_found_and_a_hit_says_what_is_lost(
        self, registry: Registry, ledger: Ledger
    ) -> None:
        await stored(ledger, f"first{'x' * CAP}last")
        found = await invoke(registry, "results.find", call="big", text="first")
        assert found["note"].startswith("Only the first 1000000 of 1000009 characters")
        assert "does not occur" in await failure(registry, "results.find", call="big", text="last")

    @pytest.mark.parametrize("filling", ["\x01", '"', "\n", "x"])
    async def test_twenty_places_fit_the_cap(self, registry: Registry, ledger: Ledger, filling: str) -> None:
        text = "w" * 200
        await stored(ledger, f"{filling * 300}{text}" * 30)
        found = await invoke(registry, "results.find", call="big", text=text)
        assert len(found["places"]) == MOST


@given(st.text())
def test_folding_keeps_every_offset(text: str) -> None:
    assert len(_folded(text)) == len(text)


def test_folding_keeps_the_length_of_every_character() -> None:
    changed = [chr(point) for point in range(sys.maxunicode + 1) if len(_folded(chr(point))) != 1]
    assert changed == []
    assert len("\u0130".lower()) == 2


@pytest.mark.parametrize(("tool", "more"), [("results.read", {}), ("results.find", {"text": "line"})])
class TestWhose:
    """The facts of the call decide what is found; no argument does."""

    @pytest.mark.parametrize(
        "asker", [call("globex"), call("acme", thread="t2"), call("globex", thread="t2")], ids=str
    )
    async def test_another_tenants_or_threads_result_is_as_unknown_as_none(
        self, registry: Registry, ledger: Ledger, tool: str, more: dict[str, Any], asker: Any
    ) -> None:
        await stored(ledger, TEXT)
        foreign = await failure(registry, tool, asker, call="big", **more)
        nothing = await failure(registry, tool, asker, call="gib", **more)
        assert foreign == nothing.replace("'gib'", "'big'")
        assert await invoke(registry, tool, call(), call="big", **more)

    async def test_an_unknown_id_says_what_was_expected(
        self, registry: Registry, tool: str, more: dict[str, Any]
    ) -> None:
        assert await failure(registry, tool, call="c9", **more) == (
            "No result of a call 'c9' is stored in this conversation. Expected the id of an earlier tool "
            "call, as the line in its shortened result names it; otherwise call that tool again."
        )

    @pytest.mark.parametrize(
        "wrong",
        [
            {"call": ""},
            {"call": "x" * 201},
            {"call": "big", "thread": "t2"},
            {"call": "big", "tenant": "globex"},
            {"call": "big", "facts": {"tenant": "globex"}},
        ],
    )
    async def test_other_arguments_are_refused(
        self, registry: Registry, tool: str, more: dict[str, Any], wrong: dict[str, Any]
    ) -> None:
        with pytest.raises(ValidationError):
            await invoke(registry, tool, **{**more, **wrong})

    async def test_both_tenants_read_their_own(
        self, registry: Registry, ledger: Ledger, tool: str, more: dict[str, Any]
    ) -> None:
        await stored(ledger, "line of acme")
        await stored(ledger, "line of globex", tenant="globex")
        own = [
            json.dumps(await invoke(registry, tool, call(t), call="big", **more)) for t in ("acme", "globex")
        ]
        assert ["line of acme" in own[0], "line of globex" in own[1]] == [True, True]
        assert "globex" not in own[0]


@pytest.mark.parametrize("wrong", [{"offset": -1}, {"length": 0}, {"length": LONGEST + 1}])
async def test_numbers_out_of_range_are_refused(registry: Registry, wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        await invoke(registry, "results.read", call="big", **wrong)

"""`results.read`, `results.find`: an earlier result of this conversation, of which only a part was shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Final

from pydantic import Field

from agent.errors import ToolFailure
from agent.ledger import Ledger
from agent.ledger.results import Result
from agent.tools.page import READER, before
from agent.tools.registry import Registry, ToolCall

LONGEST: Final = 16_000
"""Characters of a page at most, counted as JSON writes them."""

MOST: Final = 20
"""How many places one search gives."""

_CONTEXT = 80  # characters shown before and after a place
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")
_CAP = 20_000  # a full page and the fields beside it, or all places with their surroundings

CallId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="Id of the earlier tool call, as the line in its shortened result names it.",
    ),
]


@dataclass(frozen=True, slots=True)
class ResultTools:
    """The tools that read what the ledger keeps of earlier calls."""

    ledger: Ledger

    async def read(
        self,
        call: CallId,
        offset: Annotated[
            int, Field(ge=0, le=2_000_000_000, description="First character to read, counted from 0.")
        ] = 0,
        length: Annotated[int, Field(ge=1, le=LONGEST, description="At most so many characters.")] = 8_000,
        *,
        facts: ToolCall,
    ) -> dict[str, object]:
        """Read on in the result of an earlier tool call of this conversation that was shortened.

        Gives the text from `offset` on, the result's `total` characters, and `next_offset` for the next page,
        null at the end. To look for a word first, use results.find.
        """
        result = await self._stored(call, facts)
        stored = len(result.text)
        if offset and offset >= stored:
            raise ToolFailure(
                f"Offset {offset} is behind the end: of the result of call {call!r} {stored} characters can "
                f"be read. Give an offset from 0 to {max(stored - 1, 0)}."
            )
        page = _page(result.text, offset=offset, length=length)
        following = offset + len(page)
        return {
            "call": call,
            "offset": offset,
            "text": page,
            "total": result.length,
            "next_offset": following if following < stored else None,
            **_cut(result),
        }

    async def find(
        self,
        call: CallId,
        text: Annotated[
            str,
            Field(
                min_length=1, max_length=200, description="Word or words to look for; capitals do not matter."
            ),
        ],
        *,
        facts: ToolCall,
    ) -> dict[str, object]:
        """Find a word in the whole result of an earlier tool call of this conversation.

        Gives the `offset` of at most 20 places with the text around each, to read on from with results.read;
        when `more` is true there are others, so look for longer words.
        """
        result = await self._stored(call, facts)
        found = list(islice(_places(result.text, text), MOST + 1))
        if not found:
            raise ToolFailure(
                f"{text!r} does not occur in the result of call {call!r}. Try another word or a part of it."
            )
        return {
            "call": call,
            "places": [_place(result.text, offset, length=len(text)) for offset in found[:MOST]],
            "more": len(found) > MOST,
            "total": result.length,
            **_cut(result),
        }

    async def _stored(self, call: str, facts: ToolCall) -> Result:
        result = await self.ledger.results.get(facts.tenant, thread=facts.thread, call_id=call)
        if result is None:
            raise ToolFailure(
                f"No result of a call {call!r} is stored in this conversation. Expected the id of an earlier "
                "tool call, as the line in its shortened result names it; otherwise call that tool again."
            )
        return result


def register(registry: Registry, *, ledger: Ledger) -> None:
    """Register the tools that read earlier results on."""
    tools = ResultTools(ledger)
    registry.tool(READER, risk="read", output_cap=_CAP)(tools.read)
    registry.tool("results.find", risk="read", output_cap=_CAP)(tools.find)


def _page(text: str, *, offset: int, length: int) -> str:
    """The text from an offset on, as much of it as is asked for and as fits when JSON writes it."""
    page = text[offset : before(text, min(offset + length, len(text)))] or text[offset : offset + length]
    while (written := len(json.dumps(page, ensure_ascii=False))) > LONGEST:
        page = page[: before(page, min(len(page) * LONGEST // written, len(page) - 1))]
    return page


def _places(text: str, words: str) -> Iterator[int]:
    """Where the words begin, whatever their capitals."""
    within, wanted = _folded(text), _folded(words)
    place = within.find(wanted)
    while place >= 0:
        yield place
        place = within.find(wanted, place + len(wanted))


def _folded(text: str) -> str:
    """The text in lower case and of the same length: only the dotted I would become two characters."""
    return text.replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")


def _place(text: str, offset: int, *, length: int) -> dict[str, object]:
    around = text[max(offset - _CONTEXT, 0) : offset + length + _CONTEXT]
    return {"offset": offset, "around": _BLANKS.sub(" ", around).strip()}


def _cut(result: Result) -> dict[str, object]:
    """What is said of a result of which the ledger keeps the beginning only."""
    if not result.truncated:
        return {}
    kept = len(result.text)
    return {"note": f"Only the first {kept} of {result.length} characters are kept; the rest is lost."}

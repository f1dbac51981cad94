"""`kb.search`: passages of the tenant's handbook, each with its citation."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from agent.errors import ToolFailure
from agent.knowledge import HandbookRefused, Hit, Library
from agent.tools.registry import Registry, ToolCall

logger = logging.getLogger(__name__)

LONGEST: Final = 1_500
"""How many characters of a passage are given."""


@dataclass(frozen=True, slots=True)
class HandbookTools:
    """The handbook tools over one library."""

    library: Library

    async def search(
        self,
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=400,
                description="A short question or a few keywords, in the customer's language or in English.",
            ),
        ],
        *,
        call: ToolCall,
    ) -> dict[str, object]:
        """Search the company's handbook: returns, refunds, delivery, warranty, care, opening hours.

        Gives up to three passages with their citation, such as `returns.md#exchange`. State only rules that a
        passage contains, and name its citation.
        """
        try:
            hits = await self.library.search(query, tenant=call.tenant)
        except HandbookRefused as refusal:
            logger.exception("handbook refused", extra={"tenant": call.tenant})
            raise ToolFailure(
                "The handbook cannot be read. Do not guess its rules; say that you cannot look them up now."
            ) from refusal
        if not hits:
            raise ToolFailure(
                f"The handbook says nothing about {query!r}. Try other keywords once; if there is still "
                "nothing, say so and do not make up a rule."
            )
        return {"query": query, "passages": [_passage(hit) for hit in hits]}


def register(registry: Registry, *, library: Library) -> None:
    """Register the handbook tools."""
    registry.tool("kb.search", risk="read")(HandbookTools(library).search)


def _passage(hit: Hit) -> dict[str, object]:
    section = hit.section
    return {
        "citation": section.citation,
        "document": section.document,
        "heading": section.heading,
        "text": _capped(section.text),
    }


def _capped(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 2].rstrip() + " …"

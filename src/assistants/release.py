"""A release: everything that decides how an assistant behaves, in one immutable document named by its digest.

The document is total (every field of the context is written, also the empty ones) and canonical (RFC 8785),
so equal behaviour has an equal digest whatever the files look like. `schedule` and `rollout` are not part of
it: when an assistant is run and how a release is exposed say nothing of what it does, and both are reconciled
on their own, so moving a schedule makes no new release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, cast

import rfc8785

from agent.context import AgentContext
from agent.tools.registry import Tool
from assistants.loading.node import JSON
from assistants.spec import ThreadsSpec

FORMAT: Final = 1
"""The version of the document's form; a new form gives new digests."""

_SHORTEST: Final = 6  # hexadecimal digits of a digest that are shown


@dataclass(frozen=True, slots=True)
class Release:
    """A release by its canonical text; equal texts are equal releases."""

    text: bytes

    @classmethod
    def of(
        cls,
        context: AgentContext,
        *,
        graph: str,
        description: str,
        threads: ThreadsSpec,
        tools: Mapping[str, str],
    ) -> Release:
        """The release of a context. `tools` gives `tool_digest` of each tool that the context names.

        The context's own `release` and `stamp` are left out: the one follows from the digest, the other is
        a run's.
        """
        document = {
            "format": FORMAT,
            "tenant": context.tenant,
            "assistant": context.assistant,
            "graph": graph,
            "description": description,
            "context": context.model_dump(mode="json", exclude={"release", "stamp"}),
            "threads": threads.model_dump(mode="json"),
            "tools": {name: tools[name] for name in context.tools},
        }
        return cls(rfc8785.dumps(document))

    @property
    def document(self) -> dict[str, JSON]:
        """The document as JSON values."""
        return cast("dict[str, JSON]", json.loads(self.text))

    @property
    def digest(self) -> str:
        """sha256 of the canonical text, 64 hexadecimal digits: the release's name."""
        return hashlib.sha256(self.text).hexdigest()


def tool_digest(tool: Tool) -> str:
    """sha256 of what a release must know of a tool: the schema that models see, and the risk."""
    return hashlib.sha256(rfc8785.dumps({"risk": tool.risk, "schema": tool.schema()})).hexdigest()


def display(digest: str, others: Collection[str] = ()) -> str:
    """`r-` and the first 6 digits of a digest, more where another of `others` begins alike."""
    length = _SHORTEST
    rivals = [other for other in others if other != digest]
    while length < len(digest) and any(other.startswith(digest[:length]) for other in rivals):
        length += 1
    return f"r-{digest[:length]}"

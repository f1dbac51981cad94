"""The state of script mode: the conversations by key, their gates, and every request that came in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from agent.offline.content import first_human
from agent.offline.habits import mismatch, refusal
from agent.offline.refusal import Refusal
from agent.offline.request import ChatRequest
from agent.offline.script import Authorization, Script, SeenRequest, Turn
from agent.offline.shape import record, records

_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "api-key", "x-api-key", "cookie"})


@dataclass(slots=True)
class Conversation:
    """A script under way: `calls` requests came, `position` turns are used up."""

    key: str
    script: Script
    calls: int = 0
    position: int = 0
    withdrawn: bool = False
    gates: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])

    def __post_init__(self) -> None:
        self.gates = {name: anyio.Event() for name in self.script.gates()}

    @property
    def left(self) -> int:
        """The number of turns that are still to come."""
        return len(self.script.turns) - self.position

    async def passed(self, gate: str) -> bool:
        """Wait until the gate is open; false when the script was withdrawn instead."""
        await self.gates[gate].wait()
        return not self.withdrawn

    def withdraw(self) -> None:
        """End the conversation; whoever waits at a gate is told."""
        self.withdrawn = True
        for gate in self.gates.values():
            gate.set()


@dataclass(frozen=True, slots=True)
class Cue:
    """The turn that answers a request: number `number` (from 0) of its conversation."""

    request: ChatRequest
    conversation: Conversation
    number: int
    turn: Turn


@dataclass(slots=True)
class Stage:
    """Every conversation of a server, by key; used in one event loop."""

    conversations: dict[str, Conversation] = field(default_factory=dict[str, Conversation])
    seen: list[SeenRequest] = field(default_factory=list[SeenRequest])
    _count: int = 0
    _arrival: anyio.Event = field(default_factory=anyio.Event)

    def put(self, key: str, *, script: Script) -> Conversation:
        """Start a conversation; one of the same key is withdrawn with the requests it saw."""
        self.remove(key)
        self.conversations[key] = Conversation(key, script)
        return self.conversations[key]

    def remove(self, key: str) -> bool:
        """Withdraw a conversation and forget its requests; false when there is none."""
        conversation = self.conversations.pop(key, None)
        if conversation is None:
            return False
        conversation.withdraw()
        self.seen = [request for request in self.seen if request.key != key]
        return True

    def find(self, messages: Iterable[Mapping[str, Any]]) -> Conversation | None:
        """The conversation whose key occurs in the first human message; the longest key wins."""
        text = first_human(messages)
        keys = [key for key in self.conversations if key in text]
        return self.conversations[max(keys, key=len)] if keys else None

    def answer(
        self, request: ChatRequest | Refusal, *, body: object, headers: Mapping[str, str]
    ) -> Cue | Refusal:
        """Decide what a request gets, and record it; a refusal uses no turn up.

        Args:
            request: The request, or why its shape is refused.
            body: Its JSON as it came in.
            headers: Its headers by lower-case name; the values of secret ones are not kept.
        """
        conversation = self.find(records(record(body).get("messages")))
        outcome = request if isinstance(request, Refusal) else _decide(conversation, request)
        self._record(outcome, conversation=conversation, body=body, headers=headers)
        return outcome

    def requests(self, key: str | None = None) -> list[SeenRequest]:
        """The requests of a conversation in their order, or all of them."""
        return [request for request in self.seen if key is None or request.key == key]

    async def arrived(self, key: str, *, count: int) -> None:
        """Wait until the conversation has seen `count` requests."""
        while len(self.requests(key)) < count:
            await self._arrival.wait()

    def _record(
        self,
        outcome: Cue | Refusal,
        *,
        conversation: Conversation | None,
        body: object,
        headers: Mapping[str, str],
    ) -> None:
        self._count += 1
        self.seen.append(
            SeenRequest(
                n=self._count,
                key=conversation.key if conversation else None,
                turn=outcome.number if isinstance(outcome, Cue) else None,
                refused=outcome.message if isinstance(outcome, Refusal) else None,
                body=body,
                headers={name: value for name, value in headers.items() if name not in _SECRET_HEADERS},
                authorization=_authorization(headers.get("authorization")),
            )
        )
        self._arrival.set()
        self._arrival = anyio.Event()


def _decide(conversation: Conversation | None, request: ChatRequest) -> Cue | Refusal:
    if conversation is None:
        return Refusal(
            "No script's key occurs in the first human message; put a script with PUT /script/{key} first."
        )
    conversation.calls += 1
    found = refusal(conversation.script, request=request, call=conversation.calls)
    if found is not None:
        return found
    where = f"Script {conversation.key!r}, turn {conversation.position}"
    if not conversation.left:
        return Refusal(f"{where}: no turn is left; the script has {len(conversation.script.turns)}.")
    turn = conversation.script.turns[conversation.position]
    wrong = turn.expect and mismatch(turn.expect, request=request)
    if wrong:
        return Refusal(f"{where}: {wrong}.")
    conversation.position += 1
    return Cue(request, conversation, conversation.position - 1, turn)


def _authorization(value: str | None) -> Authorization:
    if value is None:
        return Authorization(present=False)
    scheme, _, credentials = value.partition(" ")
    return Authorization(
        present=True, scheme=scheme, sha256=hashlib.sha256(credentials.strip().encode()).hexdigest()
    )

"""A streamed answer, put in order while it comes: whose piece is it, is it complete, what did it cost."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import cast

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

from agent.models.incoming import new_id
from agent.models.outgoing import REASONING

_ONCE = ("finish_reason", "model_name", "system_fingerprint")


@dataclass(slots=True)
class _Call:
    """A call under way: the id that the endpoint gave it first, and what came of its arguments."""

    name: str
    given: str
    own: str
    arguments: str = ""

    def complete(self) -> bool:
        try:
            json.loads(self.arguments)
        except ValueError:
            return False
        return True


@dataclass(slots=True)
class Assembly:
    """One stream. `taken` are tool call ids that the history has already.

    LangChain joins pieces of tool calls by index and id, adds usage up and joins repeated metadata; endpoints
    leave the index out, give every call the same one, change the id with every piece, or send usage and the
    end twice. After `take` the pieces of a call share an index that no other call has, and the call has one
    id; usage is kept back, so that it is counted once.
    """

    taken: Collection[str] = ()
    finish_reason: str | None = None
    usage: UsageMetadata | None = None
    text: list[str] = field(default_factory=list[str])
    _calls: list[_Call] = field(default_factory=list[_Call])
    _at: dict[int, int] = field(default_factory=dict[int, int])
    _ids: set[str] = field(default_factory=set[str])
    _said: set[str] = field(default_factory=set[str])

    def take(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        """The chunk in order."""
        message = cast("AIMessageChunk", chunk.message)
        info = {
            key: value
            for key, value in (chunk.generation_info or {}).items()
            if key not in _ONCE or key not in self._said
        }
        self._said.update(info)
        self.finish_reason = self.finish_reason or info.get("finish_reason")
        self.usage = message.usage_metadata or self.usage
        self.text += [chunk.text, str(message.additional_kwargs.get(REASONING) or "")]
        placed = AIMessageChunk(
            content=message.content,
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
            tool_call_chunks=self._place(message.tool_call_chunks),
            id=message.id,
        )
        return ChatGenerationChunk(message=placed, generation_info=info or None)

    def written(self) -> str:
        """The answer's text and reasoning with the names and arguments of its calls, to count its tokens."""
        return "".join([*self.text, *(call.name + call.arguments for call in self._calls)])

    def broken(self) -> dict[str, str]:
        """The calls whose arguments are not JSON, by id, with what came of them.

        LangChain completes such arguments while it joins a stream: `{"amount": 9` of a cut 950 would become
        a call with 9, and be executed.
        """
        return {call.own: call.arguments for call in self._calls if call.arguments and not call.complete()}

    def _place(self, pieces: Sequence[ToolCallChunk]) -> list[ToolCallChunk]:
        return [self._one(piece) for piece in pieces]

    def _one(self, piece: ToolCallChunk) -> ToolCallChunk:
        name, given, index = piece["name"] or "", piece["id"] or "", piece["index"]
        position = self._position(index)
        if position is None or self._begins(self._calls[position], name=name, given=given):
            return self._begin(piece)
        call = self._calls[position]
        call.arguments += piece["args"] or ""
        return tool_call_chunk(name=None, args=piece["args"], id=None, index=position)

    def _position(self, index: int | None) -> int | None:
        """The call that a piece with this index goes on with, if there is one."""
        if index is not None:
            return self._at.get(index)
        return len(self._calls) - 1 if self._calls else None

    @staticmethod
    def _begins(call: _Call, *, name: str, given: str) -> bool:
        """Whether a piece where `call` stands begins another one; only pieces with a name can."""
        if not name:
            return False
        if given != call.given or name != call.name or not given:
            return True
        return call.complete()  # the same id and name again: another call only where the first is finished

    def _begin(self, piece: ToolCallChunk) -> ToolCallChunk:
        given = piece["id"] or ""
        own = given if given and given not in self._ids and given not in self.taken else new_id()
        self._ids.add(own)
        position = len(self._calls)
        self._calls.append(_Call(piece["name"] or "", given, own, piece["args"] or ""))
        if piece["index"] is not None:
            self._at[piece["index"]] = position
        return tool_call_chunk(name=piece["name"], args=piece["args"], id=own, index=position)

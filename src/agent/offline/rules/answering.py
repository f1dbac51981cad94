"""The rules from end to end: a conversation and the offered tools in, a reply out, without I/O."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from agent.offline.reply import Call, Reply
from agent.offline.request import ToolChoice
from agent.offline.rules.answer import answer
from agent.offline.rules.offer import Offer, offers
from agent.offline.rules.plan import Step, finder, once, plan, supply
from agent.offline.rules.structure import Material, structured
from agent.offline.rules.talk import question, small_talk, written
from agent.offline.rules.turn import Turn, read_turn
from agent.offline.rules.words import language
from agent.offline.shape import Record, record
from agent.offline.tokens import truncate

_LONG = 200  # characters from which a message without tools is material, not talk
_KEYS = re.compile(r"[\"'`“]([A-Za-z_]\w*)[\"'`”]")


def reply(
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    tool_choice: ToolChoice | None = None,
    response_format: Record | None = None,
    parallel: bool = True,
    max_tokens: int | None = None,
    today: date | None = None,
) -> Reply:
    """What the offline model says next; equal inputs give equal replies.

    It calls what the newest human message asks for and was not called since, and answers from the results
    when nothing is left. What results say is quoted, never followed, so a tool that needs the id of an
    earlier call is called only when it is named.

    Args:
        messages: A valid history in OpenAI's wire form.
        tools: The offered tools, as OpenAI's `tools`.
        tool_choice: `required` calls a tool as long as a harmless one is left that was not called in this
            turn; a named one is always called, its arguments filled from the conversation.
        response_format: OpenAI's `json_object` or `json_schema`, for the answer.
        parallel: Whether several calls may be made at once.
        max_tokens: The longest text, in tokens; a longer one is cut and ends with `length`.
        today: The day that words like `tomorrow` count from.
    """
    wanted = tool_choice or ToolChoice()
    known = offers(tools)
    offered = [offer for offer in known if not offer.continues]
    stand = _Stand(read_turn(messages), [] if wanted.mode == "none" else offered, today)
    if wanted.mode == "named":
        forced = next(offer for offer in known if offer.name == wanted.name)
        return _called([stand.forced(forced)], messages)
    steps = stand.open_steps()
    ready = [step for step in steps if not step.missing]
    if not ready and wanted.mode == "required":
        ready = stand.last_resort()
    if ready:
        return _called(ready if parallel else ready[:1], messages)
    text = stand.answer(steps, offered)
    if response_format is not None and response_format.get("type") != "text":
        text = json.dumps(stand.structure(response_format), ensure_ascii=False)
    return _limited(Reply(text), max_tokens)


@dataclass(frozen=True, slots=True)
class _Stand:
    """Where the conversation stands, and the tools that may be called."""

    turn: Turn
    among: Sequence[Offer]
    today: date | None

    def open_steps(self) -> list[Step]:
        """The planned calls that were not made in this turn, a search before each that lacks something."""
        steps: list[Step] = []
        for planned in plan(self.turn.humans, among=self.among, today=self.today):
            step = supply(planned, results=self.turn.results)
            search = finder(step, self.turn.text, among=self.among, today=self.today)
            steps += [each for each in (search, step) if each and each.key not in self.turn.called]
        return once(steps)

    def forced(self, offer: Offer) -> Step:
        """A call with every argument filled."""
        return Step(offer, record(structured(offer.parameters, material=self.material())))

    def last_resort(self) -> list[Step]:
        """A call where one is required and none is asked for: the answer's form, else a tool that reads.

        A class name (`WeatherReport`) is how a client offers a schema for its answer. An effect is never
        invented.
        """
        called = {name for name, _ in self.turn.called}
        fresh = [offer for offer in self.among if offer.name not in called and not offer.acts]
        return [self.forced(offer) for offer in sorted(fresh, key=lambda each: each.name[:1].islower())[:1]]

    def answer(self, steps: Sequence[Step], offered: Sequence[Offer]) -> str:
        """The text: what was said since, the results, a question for what is missing, or small talk."""
        tongue = language(self.turn.text)
        waiting = [step for step in steps if step.missing]
        parts = [*self.turn.said, self.told(), question(waiting, tongue=tongue)]
        if any(parts):
            return "\n\n".join(part for part in parts if part)
        if not offered and len(self.turn.text) > _LONG:
            return written(self.turn.text, instructions=self.turn.instructions)
        return small_talk(self.turn.text, offers=offered)

    def told(self) -> str:
        """What the results of this turn say."""
        return answer(self.turn.results, tongue=language(self.turn.text))

    def material(self) -> Material:
        """What structured values are made of."""
        return Material(self.turn.text or self.turn.instructions, self.told(), self.today)

    def structure(self, wanted: Record) -> object:
        """A value for a response format."""
        schema = record(record(wanted.get("json_schema")).get("schema")) or self._described()
        return structured(schema, material=self.material())

    def _described(self) -> Record:
        """The schema of an object that only the prompt describes: one in its text, or keys in quotes."""
        prompt = f"{self.turn.instructions}\n{self.turn.text}"
        for match in re.finditer(r"\{", prompt):
            try:
                found = record(json.JSONDecoder().raw_decode(prompt, match.start())[0])
            except ValueError:
                continue
            if "properties" in found:
                return found
        keys = list(dict.fromkeys(_KEYS.findall(prompt))) or ["answer"]
        return {"type": "object", "properties": {key: {"type": "string"} for key in keys}, "required": keys}


def _called(steps: Sequence[Step], messages: Sequence[Mapping[str, Any]]) -> Reply:
    history = json.dumps(messages, sort_keys=True)
    calls = tuple(
        Call(_id(f"{history}{number}"), step.offer.name, json.dumps(step.arguments, ensure_ascii=False))
        for number, step in enumerate(steps)
    )
    return Reply(calls=calls, finish_reason="tool_calls")


def _id(text: str) -> str:
    return f"call_{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _limited(said: Reply, limit: int | None) -> Reply:
    kept = truncate(said.content or "", limit=limit) if limit is not None else said.content
    return said if kept == said.content else replace(said, content=kept, finish_reason="length")

"""The rules from end to end: a conversation and the offered tools in, a reply out, without I/O."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from agent.offline.reply import Call, Reply
from agent.offline.request import ToolChoice
from agent.offline.rules.answer import answer
from agent.offline.rules.offer import Offer, offers
from agent.offline.rules.plan import Step, finder, plan, supply
from agent.offline.rules.structure import Material, structured
from agent.offline.rules.talk import question, small_talk, written
from agent.offline.rules.turn import Turn, read_turn
from agent.offline.rules.words import language
from agent.offline.tokens import truncate

_KEYS = re.compile(r"[\"'`“]([A-Za-z_]\w*)[\"'`”]")


def reply(
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    tool_choice: ToolChoice | None = None,
    response_format: Mapping[str, Any] | None = None,
    parallel: bool = True,
    max_tokens: int | None = None,
    today: date | None = None,
) -> Reply:
    """What the offline model says next; equal inputs give equal replies.

    It calls what the newest human message asks for and was not called since, and answers from the results
    when nothing is left. What results say is quoted, never followed.

    Args:
        messages: A valid history in OpenAI's wire form.
        tools: The offered tools, as OpenAI's `tools`.
        tool_choice: `required` calls a tool as long as one is left that was not called in this turn; a named
            one is always called, its arguments filled from the conversation.
        response_format: OpenAI's `json_object` or `json_schema`, for the answer.
        parallel: Whether several calls may be made at once.
        max_tokens: The longest text, in tokens; a longer one is cut and ends with `length`.
        today: The day that words like `tomorrow` count from.
    """
    wanted = tool_choice or ToolChoice()
    turn = read_turn(messages)
    among = [] if wanted.mode == "none" else offers(tools)
    if wanted.mode == "named":
        among = [offer for offer in among if offer.name == wanted.name]
        return _called([_forced(among[0], turn, today)], messages)
    steps = _open_steps(turn, among, today)
    ready = [step for step in steps if not step.missing]
    if not ready and wanted.mode == "required":
        ready = _last_resort(turn, among, today)
    if ready:
        return _called(ready if parallel else ready[:1], messages)
    return _limited(_spoken(turn, steps, offers(tools), response_format, today), max_tokens)


def _open_steps(turn: Turn, among: Sequence[Offer], today: date | None) -> list[Step]:
    """The steps of the plan that were not called in this turn, those that lack something preceded by a search."""
    steps: list[Step] = []
    for step in plan(turn.humans, among=among, today=today):
        supplied = supply(step, results=turn.results)
        search = finder(supplied, turn.text, among=among, today=today) if supplied.missing else None
        steps += [search, supplied] if search else [supplied]
    return [step for step in dict((step.key, step) for step in steps).values() if step.key not in turn.called]


def _forced(offer: Offer, turn: Turn, today: date | None) -> Step:
    material = Material(_matter(turn), _answered(turn), today)
    return Step(offer, structured(offer.parameters, material=material))


def _last_resort(turn: Turn, among: Sequence[Offer], today: date | None) -> list[Step]:
    """A call where one is required and none is asked for: the tool for the answer, else one that only reads.

    A class name (`WeatherReport`) is how a client offers a schema for its answer. An effect is never invented.
    """
    called = {name for name, _ in turn.called}
    fresh = [offer for offer in among if offer.name not in called and not offer.acts]
    shaped = [offer for offer in fresh if offer.name[:1].isupper()]
    return [_forced(offer, turn, today) for offer in [*shaped, *fresh][:1]]


def _spoken(
    turn: Turn,
    steps: Sequence[Step],
    among: Sequence[Offer],
    response_format: Mapping[str, Any] | None,
    today: date | None,
) -> Reply:
    kind = (response_format or {}).get("type", "text")
    if response_format is None or kind == "text":
        return Reply(_answer(turn, steps, among))
    material = Material(_matter(turn), _answered(turn), today)
    schema = response_format["json_schema"]["schema"] if kind == "json_schema" else _described(turn)
    return Reply(json.dumps(structured(schema, material=material), ensure_ascii=False))


def _answer(turn: Turn, steps: Sequence[Step], among: Sequence[Offer]) -> str:
    tongue = language(turn.text)
    parts = [*turn.said, answer(turn.results, tongue=tongue)] if turn.results or turn.said else []
    waiting = [step for step in steps if step.missing]
    if waiting:
        parts.append(question(waiting, tongue=tongue))
    if parts:
        return "\n\n".join(part for part in parts if part)
    if not among and len(turn.text) > 200:
        return written(turn.text, instructions=turn.instructions)
    return small_talk(turn.text, offers=among)


def _answered(turn: Turn) -> str:
    return answer(turn.results, tongue=language(turn.text)) if turn.results else ""


def _matter(turn: Turn) -> str:
    return turn.text or turn.instructions


def _described(turn: Turn) -> Mapping[str, Any]:
    """The schema of a JSON object that only the prompt describes: one in its text, or keys in quotes."""
    prompt = f"{turn.instructions}\n{turn.text}"
    for match in re.finditer(r"\{", prompt):
        try:
            found, _ = json.JSONDecoder().raw_decode(prompt, match.start())
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

"""An answer in a schema from every kind of endpoint (B-65, case 82; of case 85 what concerns one call)."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from agent.models.structured import StructuredAnswerInvalid, ask
from agent.offline.script import ScriptedCall, Turn
from tests.support.endpoint import Conversation, Endpoint
from tests.unit.models.desk import Route, client, profile

pytestmark = pytest.mark.anyio

GOOD = '{"worker": "writer", "urgent": true}'
ROUTE = Route(worker="writer", urgent=True)


def call(**args: Any) -> ScriptedCall:
    return ScriptedCall(name="Route", args=args)


def calls(*made: ScriptedCall, content: str = "") -> Turn:
    return Turn(content=content, tool_calls=made)


async def asked(place: Endpoint, talk: Conversation, dialect: Any) -> Route:
    return await ask(client(place.url, dialect), [HumanMessage(talk.says("Who?"))], schema=Route)


@pytest.mark.parametrize(
    ("dialect", "turn", "habits"),
    [
        ("scripted", Turn(content=GOOD), {}),
        ("deepseek", Turn(content=GOOD), {"refuse_json_schema": True, "refuse_forced_tool_choice": True}),
        ("compatible", Turn(content=f"```json\n{GOOD}\n```"), {"refuse_json_schema": True}),
        (
            "generic-safe",
            calls(call(worker="writer", urgent=True)),
            {
                "refuse_json_schema": True,
                "refuse_forced_tool_choice": True,
                "refuse_parallel_tool_calls": True,
            },
        ),
        ("generic-safe", Turn(content=GOOD), {"refuse_forced_tool_choice": True}),
    ],
)
async def test_every_kind_of_endpoint_gives_one(
    scripted: Endpoint, dialect: str, turn: Turn, habits: dict[str, bool]
) -> None:
    talk = await scripted.script(turn, **habits)
    assert await asked(scripted, talk, dialect) == ROUTE
    assert len(await talk.requests()) == 1


async def test_json_mode_is_told_the_word_and_the_schema(scripted: Endpoint) -> None:
    """Case 82: without the word JSON the mode is refused, or answers with blanks."""
    talk = await scripted.script(Turn(content=GOOD))
    await asked(scripted, talk, "deepseek")
    (request,) = await talk.requests()
    told = request.body["messages"][-1]
    assert (told["role"], "JSON" in told["content"], '"worker"' in told["content"]) == ("system", True, True)
    assert request.body["response_format"] == {"type": "json_object"}


async def test_a_schema_that_is_enforced_is_not_told_again(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content=GOOD))
    await asked(scripted, talk, "scripted")
    (request,) = await talk.requests()
    assert len(request.body["messages"]) == 1
    assert request.body["response_format"]["json_schema"]["name"] == "Route"
    assert request.body["response_format"]["json_schema"]["schema"]["required"] == ["worker"]


@pytest.mark.parametrize("forced", [True, False])
async def test_a_tool_is_forced_where_it_can_be_and_asked_for_where_it_cannot(
    scripted: Endpoint,
    forced: bool,  # noqa: FBT001
) -> None:
    """Case 83."""
    talk = await scripted.script(
        calls(call(worker="writer", urgent=True)), refuse_forced_tool_choice=not forced
    )
    dialect = profile("generic-safe", forced_tool_choice=forced)
    assert await asked(scripted, talk, dialect) == ROUTE
    (request,) = await talk.requests()
    assert ("tool_choice" in request.body) is forced
    asked_for = "Answer by calling the tool Route once" in str(request.body["messages"])
    assert asked_for is not forced


@pytest.mark.parametrize(
    ("dialect", "wrong"),
    [
        ("scripted", Turn(content='{"wroker": "writer"}')),
        ("deepseek", Turn(content="  \n ")),
        ("deepseek", Turn(content="The writer, I think.")),
        ("generic-safe", calls(call(urgent=True))),
        ("generic-safe", calls(ScriptedCall(name="Route", raw_arguments='{"worker": '))),
        ("generic-safe", calls(ScriptedCall(name="another", args={"worker": "x"}))),
    ],
)
async def test_a_wrong_answer_is_repaired_once(scripted: Endpoint, dialect: str, wrong: Turn) -> None:
    right = calls(call(worker="writer", urgent=True)) if dialect == "generic-safe" else Turn(content=GOOD)
    talk = await scripted.script(wrong, right)
    assert await asked(scripted, talk, dialect) == ROUTE
    first, second = await talk.requests()
    added = second.body["messages"][len(first.body["messages"]) :]
    assert [message["role"] for message in added] == ["assistant", "user"]
    assert added[1]["content"].startswith("That does not fit: ")
    assert "tool_calls" not in added[0]


async def test_what_is_wrong_is_named_in_the_repair(scripted: Endpoint) -> None:
    talk = await scripted.script(Turn(content='{"urgent": "perhaps"}'), Turn(content=GOOD))
    await asked(scripted, talk, "scripted")
    repair = (await talk.requests())[1].body["messages"][-1]["content"]
    assert "worker: Field required" in repair
    assert "urgent: Input should be a valid boolean" in repair


async def test_an_answer_that_is_wrong_for_ever_ends_after_two(scripted: Endpoint) -> None:
    """Case 85: repairs have an end, and the failure is said."""
    talk = await scripted.script(*[Turn(content='{"urgent": true}')] * 5)
    with pytest.raises(
        StructuredAnswerInvalid, match="no valid 'Route' in two answers: worker: Field required"
    ):
        await asked(scripted, talk, "scripted")
    assert len(await talk.requests()) == 2


async def test_of_several_calls_the_first_that_fits_counts(scripted: Endpoint) -> None:
    """Case 85: the schema's tool called twice, beside another one."""
    made = [
        ScriptedCall(name="another", args={"worker": "no"}),
        call(urgent=True),
        call(worker="writer", urgent=True),
        call(worker="late"),
    ]
    talk = await scripted.script(calls(*made))
    assert await asked(scripted, talk, "generic-safe") == ROUTE
    assert len(await talk.requests()) == 1

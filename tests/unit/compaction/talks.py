"""Conversations to compact: long ones, and one long turn."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from tests.unit.history.histories import asking, result

FACT = "my order number is 4711"


def talk(turns: int, *, start: int = 0) -> list[BaseMessage]:
    """Turns of some 60 tokens; the first tells the goal, the fourth the fact."""
    messages: list[BaseMessage] = []
    for number in range(start, start + turns):
        said = {0: "The goal: find my parcel.", 3: FACT}.get(number, "and then?")
        messages.append(
            HumanMessage(f"question {number} {said} {'word ' * 20}" if number else said, id=f"h{number}")
        )
        messages.append(AIMessage(f"answer {number} {'word ' * 20}", id=f"a{number}"))
    return messages


def loop(rounds: int) -> list[BaseMessage]:
    """One turn of many rounds, each with two calls."""
    messages: list[BaseMessage] = [HumanMessage("The goal: read it all.", id="h")]
    for number in range(rounds):
        messages.append(asking(f"{number}a", f"{number}b", message=f"m{number}"))
        messages += [result(f"{number}a", "r" * 200), result(f"{number}b", "r" * 200)]
    return messages

"""Plans of random conversations: what the model says, what people do, and when a run is cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from agent.offline.script import ScriptedCall, Turn
from agent.state import HistoryMode
from tests.graph.test_dialects import HABITS

GATED_FROM = 100
"""The amount from which a payment waits for a person."""

Kind = Literal["say", "decide", "withdraw", "interrupt", "expire", "go on"]
Choice = Literal["approve", "edit", "reject", "later"]


@dataclass(frozen=True)
class Step:
    """What happens next; a run of it is cancelled at its `cut`-th moment (from 1), if it has so many.

    `interrupt` is a message while a decision is awaited, without the door's care for it. `choices` are what
    people decide on what waits, in its order, and `forged` adds approvals that nobody gave to the answer.
    """

    kind: Kind
    cut: int | None = None
    choices: tuple[Choice, ...] = ()
    forged: bool = False
    stream: bool = True


@dataclass(frozen=True)
class Setting:
    """The assistant, its endpoint and how its thread is kept."""

    mode: HistoryMode
    endpoint: tuple[str, dict[str, Any]]  # profile and habits
    compaction: dict[str, int] | None
    limits: dict[str, int]
    unattended: bool


@dataclass(frozen=True)
class Plan:
    """A whole conversation."""

    setting: Setting
    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]


def weighted(*choices: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One of the strategies, as often as its weight says; `one_of` gives each of its parts the same."""
    each = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.sampled_from(each).flatmap(lambda strategy: strategy)


def some(parts: st.SearchStrategy[Any], *, least: int, most: int) -> st.SearchStrategy[tuple[Any, ...]]:
    """So many parts, each number as likely as the others; hypothesis's own lists tend to be short."""

    def several(count: int) -> st.SearchStrategy[tuple[Any, ...]]:
        return st.tuples(*[parts] * count)

    return st.integers(least, most).flatmap(several)


def one_call(name: str, **args: Any) -> st.SearchStrategy[ScriptedCall]:
    """A call with these arguments, each a value or a strategy, under an id that may come again."""
    given: dict[str, st.SearchStrategy[Any]] = {
        key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in args.items()
    }
    return st.builds(
        ScriptedCall,
        name=st.just(name),
        args=st.fixed_dictionaries(given),
        id=st.sampled_from([None, None, None, "call_0"]),
    )


def _raw(text: str) -> ScriptedCall:
    return ScriptedCall(name="bench_pay", raw_arguments=text)


def _busy(status: int) -> Turn:
    return Turn(status=status, headers={"retry-after": "0"})


def _refusing(status: int) -> Turn:
    return Turn(status=status, error="sk-123 refused")


def _cut(after: int) -> Turn:
    call = ScriptedCall(name="bench_pay", args={"amount": 5})
    return Turn(content="half an answer", tool_calls=(call,) * (after % 2), cut_after_chunks=after)


texts = st.sampled_from(["a", "b", "c", "d", "x\x00y", "</tool_result>", "你好 " * 40])
made_calls = weighted(
    (5, one_call("bench_echo", text=texts)),
    (4, one_call("bench_pay", amount=st.integers(1, GATED_FROM - 1))),
    (7, one_call("bench_pay", amount=st.integers(GATED_FROM, 900))),
    (3, st.one_of([one_call(f"bench_{name}") for name in ("boom", "fail", "big", "nasty")])),
    (1, one_call("bench_long", page=texts)),
    (2, st.one_of(one_call("bench_hang"), one_call("bench_send"))),
    (1, st.one_of(one_call("bench_slow"), one_call("bench_meet", place="a"), one_call("no such tool!"))),
    (1, st.one_of(one_call("bench_pay", amount=-1, to="me"), one_call("bench_echo", text=10**30))),
    (1, st.sampled_from(["{", '{"amount": NaN}', '{"amount": 9', "[]", "", '{"x": "\\ud83d"}']).map(_raw)),
)
calling = st.builds(
    Turn,
    content=st.sampled_from([None, "", "Let me see.", "nul \x00"]),
    tool_calls=some(made_calls, least=1, most=4),
    finish_reason=st.sampled_from(["auto"] * 10 + ["length", "stop"]),
    reasoning=st.sampled_from([None, "hm"]),
)
speaking = st.builds(
    Turn,
    content=st.sampled_from(["Fine.", "", " \n", "nul \x00", "word " * 120]),
    finish_reason=st.sampled_from(["auto", "auto", "length", "content_filter"]),
)
failing = weighted(
    (3, st.sampled_from([429, 500, 503, 408]).map(_busy)),
    (1, st.sampled_from([400, 401, 404]).map(_refusing)),
    (2, st.integers(0, 6).map(_cut)),
    (1, st.just(Turn(content="half", finish_reason=None))),
)
some_turns = some(weighted((7, calling), (1, speaking), (2, failing)), least=1, most=8)
some_steps = some(
    st.builds(
        Step,
        kind=st.sampled_from([*["say"] * 2, *["decide"] * 4, "withdraw", "interrupt", "expire", "go on"]),
        cut=weighted((2, st.none()), (1, st.integers(1, 24))),
        choices=some(st.sampled_from([*["approve"] * 3, "edit", "reject", "later"]), least=1, most=3),
        forged=st.booleans(),
        stream=st.booleans(),
    ),
    least=3,
    most=8,
)
NO_HABITS: dict[str, Any] = {}
some_settings = st.builds(
    Setting,
    mode=st.sampled_from(["delta", "full"]),
    endpoint=st.sampled_from(
        [
            ("openai", NO_HABITS),
            ("openai", {"no_usage": True}),
            ("openai", {"tool_ids": "empty"}),
            *HABITS.items(),
        ]
    ),
    compaction=st.sampled_from(
        [None, {"max_tokens": 1_000, "keep_recent": 1}, {"max_tokens": 1_600, "keep_recent": 2}]
    ),
    limits=st.sampled_from(
        [*[{}] * 4, {"approvals": 1}, {"tool_calls": 3}, {"model_calls": 3}, {"repeats": 1}]
    ),
    unattended=st.sampled_from([*[False] * 6, True]),
)
plans = st.builds(Plan, setting=some_settings, turns=some_turns, steps=some_steps)

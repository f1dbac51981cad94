"""How a long thread grows in Postgres, and whether its turns get slower.

The react graph with its own conversation state (delta), against the very same graph with
`SIGNALBOX_MESSAGES=full` (`add_messages`): same messages, same model, same server, a database each. Words are
random, so that Postgres can't compress them away; compaction is on, as in a real assistant.
"""

from __future__ import annotations

import gc
import random
import statistics
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import sqlalchemy as sa
from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import sql

from agent.compaction.summariser import INSTRUCTION
from agent.state import HistoryMode
from bench.harness import context, react, turn
from bench.plot import Bars, Lines, page
from bench.sample import no_collection, quartiles, seconds
from bench.scripted import Talker
from tests.support.postgres import serving, text

MODES: dict[HistoryMode, str] = {"delta": "signalbox (delta)", "full": "add_messages (full)"}
LENGTH = 1_500  # characters, and bytes: the words are ASCII
RULE = {"max_tokens": 8_000, "keep_recent": 6}
_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
_RAW = sql.SQL(
    "SELECT (SELECT sum(octet_length(checkpoint::text) + octet_length(metadata::text)) FROM checkpoints),"
    " (SELECT sum(octet_length(blob)) FROM checkpoint_blobs),"
    " (SELECT sum(octet_length(blob)) FROM checkpoint_writes)"
)
_MB = 1e6
FIRST = "last turns to first turns"
UNDER = "last turns to first turns under compaction"
_MILLISECONDS = "milliseconds of the {} turns"


class Words:
    """Texts of an exact length from random words; the same ones at each run."""

    def __init__(self, *, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing secret

    def __call__(self, length: int) -> str:
        """A text of that many characters."""
        letters = "abcdefghijklmnopqrstuvwxyz    "
        return "".join(self._random.choices(letters, k=length))


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread: seconds of each turn, turns with a new summary, MB by turn, bytes by table, messages."""

    spent: list[float]
    folds: list[int]
    sizes: list[tuple[int, float]]
    raw: dict[str, int]
    held: int


async def measure(*, turns: int = 300, window: int = 20) -> dict[str, Any]:
    """Bytes and milliseconds by turn of both modes, on a server of this run's own."""
    with serving() as server:
        await _as_installed(text(server))
        return await compared(server, turns=turns, window=window, threads=3)


async def compared(server: sa.URL, *, turns: int, window: int, threads: int) -> dict[str, Any]:
    """The same on a server that runs; times of ours are medians over so many threads."""
    await _thread("delta", server, turns=window, window=window)  # a warm-up
    ours = [await _thread("delta", server, turns=turns, window=window) for _ in range(threads)]
    measured = {"delta": ours, "full": [await _thread("full", server, turns=turns, window=window)]}
    return {
        "turns": turns,
        "characters a message": LENGTH,
        "compaction": RULE,
        "window of turns": window,
        "postgres": "local, with the settings it is installed with",
        "variants": {name: _figures(measured[mode], window) for mode, name in MODES.items()},
    }


async def _thread(mode: HistoryMode, server: sa.URL, *, turns: int, window: int) -> Thread:
    words, folds, place = Words(seed=1), list[int](), str(uuid.uuid4())
    spent: list[float] = []

    def answer(messages: Sequence[BaseMessage], _: Sequence[Any]) -> str:
        asked = messages[0]
        if isinstance(asked, SystemMessage) and asked.text == INSTRUCTION:
            folds.append(len(spent) + 1)
            return words(2_000)
        return words(LENGTH)

    async with _saver(server) as (saver, url), no_collection():
        graph, admit = react(Talker(answer=answer), saver=saver, mode=mode), context(compaction=RULE)
        sizes: list[tuple[int, float]] = []
        for number in range(1, turns + 1):
            said = words(LENGTH)
            gc.collect()
            spent.append(await seconds(lambda said=said: turn(graph, said, thread=place, admit=admit)))
            if number % window == 0 or number == turns:
                sizes.append((number, round(await _relation_bytes(url) / _MB, 3)))
        state = await graph.aget_state({"configurable": {"thread_id": place}})
        return Thread(spent, sorted(set(folds)), sizes, await _raw_bytes(url), len(state.values["messages"]))


def _figures(threads: Sequence[Thread], window: int) -> dict[str, Any]:
    one = threads[0]
    begun = min(one.folds, default=1)
    starts = (0, begun - 1, len(one.spent) - window)
    first, under, last = (_milliseconds(threads, start, window) for start in starts)
    return {
        "threads": len(threads),
        "messages in the thread": one.held,
        "summaries made": len(one.folds),
        "relations in MB": one.sizes[-1][1],
        "raw MB": {name: round(size / _MB, 3) for name, size in one.raw.items()},
        "first summary in turn": begun,
        _MILLISECONDS.format("first"): quartiles(first),
        _MILLISECONDS.format("first compacted"): quartiles(under),
        _MILLISECONDS.format("last"): quartiles(last),
        FIRST: round(statistics.median(last) / statistics.median(first), 3),
        UNDER: round(statistics.median(last) / statistics.median(under), 3),
        "relations in MB by turn": one.sizes,
        "milliseconds by turn": [
            (start + window, round(statistics.median(_milliseconds(threads, start, window)), 2))
            for start in range(0, len(one.spent), window)
        ],
    }


def _milliseconds(threads: Sequence[Thread], start: int, window: int) -> list[float]:
    return [value * 1000 for thread in threads for value in thread.spent[start : start + window]]


@asynccontextmanager
async def _saver(server: sa.URL) -> AsyncGenerator[tuple[AsyncPostgresSaver, str]]:
    """A saver on a database of its own, and that database's URL."""
    name = f"bench_{uuid.uuid4().hex}"
    url = text(server.set(database=name))
    async with await psycopg.AsyncConnection.connect(text(server), autocommit=True) as connection:
        await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        async with AsyncPostgresSaver.from_conn_string(url) as saver:
            await saver.setup()
            yield saver, url
        await connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


async def _as_installed(url: str) -> None:
    """Take back what makes a test's server quick and forgetful: a turn waits for the disk again."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("ALTER SYSTEM RESET ALL")
        await connection.execute("SELECT pg_reload_conf()")


async def _relation_bytes(url: str) -> int:
    """Bytes that the three tables take, with indexes and TOAST."""
    relations = sql.SQL(" + ").join(
        sql.SQL("pg_total_relation_size({})").format(sql.Literal(table)) for table in _TABLES
    )
    return int((await _row(url, sql.SQL("SELECT {}").format(relations)))[0])


async def _raw_bytes(url: str) -> dict[str, int]:
    """Bytes of what is stored in each table, before compression and without keys."""
    return dict(zip(_TABLES, map(int, await _row(url, _RAW)), strict=True))


async def _row(url: str, query: sql.SQL | sql.Composed) -> tuple[Any, ...]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        row = await (await connection.execute(query)).fetchone()
    if row is None:
        raise RuntimeError("Postgres gave no row; expected one.")
    return row


def drawn(result: dict[str, Any]) -> str:
    """The result as SVG."""
    found: dict[str, Any] = result["variants"]
    return page(
        [
            Bars(
                f"MB in Postgres after {result['turns']} turns",
                {name: values["relations in MB"] for name, values in found.items()},
            ),
            Lines("MB in Postgres by turn", {n: v["relations in MB by turn"] for n, v in found.items()}),
            Lines(
                f"milliseconds a turn, medians of {result['window of turns']} turns",
                {name: values["milliseconds by turn"] for name, values in found.items()},
            ),
        ]
    )


def rows(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Figure, value, aim."""
    ours, full = (result["variants"][name] for name in MODES.values())
    turns = result["turns"]
    return [
        (
            f"checkpoints of a thread of {turns} turns, with indexes",
            f"{ours['relations in MB']:.1f} MB ({full['relations in MB']:.1f} MB with `add_messages`)",
            "≤ 15 MB",
        ),
        ("the same, octets of the values", f"{_raw(ours):.1f} MB ({_raw(full):.1f} MB)", ""),
        (f"time of a turn, {FIRST}", f"{ours[FIRST]} ({full[FIRST]} with `add_messages`)", "≤ 1.3"),
        (f"time of a turn, {UNDER}", f"{ours[UNDER]} ({full[UNDER]})", "≤ 1.3"),
        ("milliseconds of a turn, first to last", f"{_range(ours)} ({_range(full)})", ""),
    ]


def _range(values: dict[str, Any]) -> str:
    first, last = (values[_MILLISECONDS.format(which)]["median"] for which in ("first", "last"))
    return f"{first} to {last}"


def _raw(values: dict[str, Any]) -> float:
    return sum(values["raw MB"].values())

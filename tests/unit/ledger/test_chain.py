from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields, replace

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger import Broken, Entry, Event, Head, Intact, LedgerRefused
from agent.ledger.chain import GENESIS, START, code, entry_hash, extend, finish, follow, timestamp
from tests.unit.ledger.samples import NOON, later

CODES = st.text("abc.-:/@=09", max_size=12)
EVENTS = st.builds(
    Event,
    action=CODES,
    actor=CODES,
    thread=st.text(max_size=5),
    facts=st.dictionaries(CODES, CODES | st.integers(-99, 99) | st.booleans() | st.none(), max_size=3),
)
CHAINS = st.lists(EVENTS, min_size=1, max_size=8)


def chain(events: list[Event], *, tenant: str = "acme") -> list[Entry]:
    entries: list[Entry] = []
    head = START
    for number, event in enumerate(events):
        entries.append(extend(head, event, tenant=tenant, now=later(seconds=number)))
        head = Head(entries[-1].seq, entries[-1].hash)
    return entries


def verdict(entries: list[Entry], *heads: Head, tenant: str = "acme") -> Intact | Broken:
    position = follow(START, entries, tenant=tenant, heads=heads)
    return position if isinstance(position, Broken) else finish(position, heads=heads)


def head_of(entries: list[Entry]) -> Head:
    return Head(entries[-1].seq, entries[-1].hash)


def test_an_entry_is_hashed_over_the_canonical_form_of_everything_else() -> None:
    event = Event("tool.denied", "acme/u1", thread="t1", facts={"tool": "orders.refund", "amount": 3})
    entry = extend(START, event, tenant="acme", now=NOON)
    body = {
        "tenant": "acme",
        "seq": 1,
        "at": "2026-03-01T12:00:00.000000Z",
        "action": "tool.denied",
        "actor": "acme/u1",
        "assistant": "",
        "release": "",
        "thread": "t1",
        "turn": "",
        "run": "",
        "facts": '{"amount":3,"tool":"orders.refund"}',
        "prev": "0" * 64,
    }
    assert asdict(entry) == {**body, "hash": hashlib.sha256(rfc8785.dumps(body)).hexdigest()}
    assert entry.moment == NOON
    assert entry.values == {"amount": 3, "tool": "orders.refund"}


def test_each_entry_names_the_one_before() -> None:
    entries = chain([Event("a", "x"), Event("b", "x"), Event("c", "x")])
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert [entry.prev for entry in entries] == [GENESIS, entries[0].hash, entries[1].hash]
    assert len({entry.hash for entry in entries}) == 3


def test_moments_in_text_sort_as_moments() -> None:
    moments = [NOON, later(microseconds=1), later(milliseconds=2), later(days=40)]
    assert sorted(map(timestamp, moments)) == list(map(timestamp, moments))
    assert {len(timestamp(moment)) for moment in moments} == {27}


@given(CHAINS)
def test_a_chain_as_it_was_written_is_intact(events: list[Event]) -> None:
    entries = chain(events)
    assert verdict(entries) == Intact(len(events), head_of(entries))
    assert verdict(entries, head_of(entries), head_of(entries[:1])) == Intact(len(events), head_of(entries))


def test_an_empty_chain_is_intact_until_a_head_is_remembered() -> None:
    assert verdict([]) == Intact(0, START)
    assert verdict([], START) == Intact(0, START)
    assert verdict([], Head(1, "ab")) == Broken(1, "missing")


@given(CHAINS, st.data())
def test_one_flipped_bit_in_any_field_is_found_where_it_is(events: list[Event], data: st.DataObject) -> None:
    entries = chain(events)
    place = data.draw(st.integers(0, len(entries) - 1))
    name = data.draw(st.sampled_from([field.name for field in fields(Entry) if field.name != "seq"]))
    text: str = getattr(entries[place], name)
    if not text:
        return
    raw = bytearray(text.encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    entries[place] = replace(entries[place], **{name: raw.decode(errors="surrogateescape")})
    assert verdict(entries) == Broken(place + 1, "altered")


@given(CHAINS, st.data())
def test_a_changed_entry_with_a_fitting_hash_breaks_the_next_one_or_the_head(
    events: list[Event], data: st.DataObject
) -> None:
    entries = chain(events)
    head = head_of(entries)
    place = data.draw(st.integers(0, len(entries) - 1))
    forged = replace(entries[place], actor="globex/u9")
    entries[place] = replace(forged, hash=entry_hash(forged))
    last = place == len(entries) - 1
    assert verdict(entries, head) == Broken(place + 1 + (not last), "not_the_head" if last else "altered")


@given(CHAINS, st.data())
def test_a_removed_entry_is_found(events: list[Event], data: st.DataObject) -> None:
    entries = chain(events)
    head = head_of(entries)
    place = data.draw(st.integers(0, len(entries) - 1))
    del entries[place]
    assert verdict(entries, head) == Broken(place + 1, "missing")


@given(st.lists(EVENTS, min_size=2, max_size=8), st.data())
def test_a_swapped_pair_is_found(events: list[Event], data: st.DataObject) -> None:
    entries = chain(events)
    first, second = sorted(
        data.draw(st.lists(st.integers(0, len(entries) - 1), min_size=2, max_size=2, unique=True))
    )
    one, other = entries[first], entries[second]
    entries[first], entries[second] = other, one
    assert verdict(entries) == Broken(first + 1, "missing"), "the rows changed places"
    entries[first], entries[second] = replace(other, seq=one.seq), replace(one, seq=other.seq)
    assert verdict(entries) == Broken(first + 1, "altered"), "and their numbers too"


@given(CHAINS, st.data())
def test_a_cut_tail_is_found_by_whoever_remembers_the_head(events: list[Event], data: st.DataObject) -> None:
    entries = chain(events)
    left = data.draw(st.integers(0, len(entries) - 1))
    assert verdict(entries[:left], head_of(entries)) == Broken(left + 1, "missing")
    assert verdict(entries[:left]) == Intact(left, head_of(entries[:left]) if left else START)


def test_a_rewritten_chain_does_not_lead_through_the_remembered_head() -> None:
    entries = chain([Event("a", "x"), Event("b", "x")])
    rewritten = chain([Event("a", "x"), Event("c", "x"), Event("b", "x")])
    assert verdict(rewritten) == Intact(3, head_of(rewritten))
    assert verdict(rewritten, head_of(entries)) == Broken(2, "not_the_head")


def test_an_entry_of_another_tenants_chain_does_not_fit() -> None:
    assert verdict(chain([Event("a", "x")], tenant="globex")) == Broken(1, "altered")


@pytest.mark.parametrize(
    "text", ["please refund my order", "退款", "line\nbreak", "x" * 201, "nul\x00", "\ud800"]
)
def test_text_is_refused_among_the_facts(text: str) -> None:
    with pytest.raises(LedgerRefused, match="'reason'") as caught:
        extend(START, Event("tool.denied", "acme/u1", facts={"reason": text}), tenant="acme", now=NOON)
    assert text not in str(caught.value)
    with pytest.raises(LedgerRefused, match="'action'"):
        extend(START, Event(text, "acme/u1"), tenant="acme", now=NOON)


def test_ids_that_clients_choose_are_kept_as_digests_when_they_are_text() -> None:
    assert code("call_1") == "call_1"
    assert code("please refund") == "sha256:" + hashlib.sha256(b"please refund").hexdigest()
    entry = extend(START, Event("a", "acme/Ann Lee", thread="t\x00"), tenant="acme", now=NOON)
    assert entry.actor == "acme/Ann Lee"
    assert entry.thread.startswith("sha256:")


def test_facts_of_all_kinds_come_back() -> None:
    facts = {"n": None, "b": True, "i": 7, "s": "ok"}
    entry = extend(START, Event("a", "x", facts=facts), tenant="acme", now=NOON)
    assert entry.values == facts
    assert entry.facts == json.dumps(facts, sort_keys=True, separators=(",", ":"))

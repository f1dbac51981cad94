from __future__ import annotations

import json
import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context import AgentContext, Limits, MemoryRule, ModelChoice, Stamp
from agent.errors import RunRefused
from agent.stamp import RunKey, context_digest, run_key, secret_from, sign, stateless, verify
from tests.unit.agent.contexts import FULL, context

SECRET = b"the server's secret, 32 bytes or more"
KEY = RunKey(run="run-1", thread="thread-1", assistant="assistant-1")
STATELESS = replace(KEY, thread="")

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
keys = st.builds(RunKey, run=text, thread=text, assistant=text)


def stamped(
    base: AgentContext = FULL,
    key: RunKey = KEY,
    *,
    principal: str = "acme/u1",
    roles: tuple[str, ...] = ("user",),
    unattended: bool = False,
    secret: bytes = SECRET,
) -> AgentContext:
    stamp = sign(base, key, principal=principal, roles=roles, unattended=unattended, secret=secret)
    return base.model_copy(update={"stamp": stamp})


def forged(**values: object) -> AgentContext:
    """A context whose genuine stamp was changed afterwards."""
    good = stamped()
    assert good.stamp is not None
    return good.model_copy(update={"stamp": good.stamp.model_copy(update=values)})


def refused(base: AgentContext, key: RunKey = KEY, *, secret: bytes = SECRET) -> str:
    with pytest.raises(RunRefused) as caught:
        verify(base, key, secret=secret)
    assert caught.value.code == "run_refused"
    return str(caught.value)


def test_the_door_s_own_stamp_admits_its_run() -> None:
    stamp = verify(stamped(), KEY, secret=SECRET)
    assert (stamp.principal, stamp.unattended, len(stamp.mac)) == ("acme/u1", False, 64)


def test_a_stamp_survives_the_way_to_the_worker() -> None:
    arrived = AgentContext.model_validate(json.loads(json.dumps(stamped().total())))
    assert verify(arrived, KEY, secret=SECRET) == stamped().stamp


def test_a_run_without_a_stamp_does_not_start_and_says_where_to_look() -> None:
    assert "'auth' in langgraph.json" in refused(FULL)


@pytest.mark.parametrize("mac", ["", "0" * 64, "f" * 64, "é" * 64, "\ud800", "none"])
def test_a_forged_mac_is_refused(mac: str) -> None:
    refused(forged(mac=mac))


def test_a_mac_in_capitals_is_another_mac() -> None:
    good = stamped().stamp
    assert good is not None
    assert good.mac != good.mac.upper()
    refused(forged(mac=good.mac.upper()))


def test_a_mac_that_is_cut_short_is_refused() -> None:
    good = stamped().stamp
    assert good is not None
    refused(forged(mac=good.mac[:-1]))


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, run="run-2"),
        replace(KEY, thread="thread-2"),
        replace(KEY, assistant="assistant-2"),
        RunKey(run="", thread="", assistant=""),
        replace(KEY, run=""),
        STATELESS,
    ],
    ids=["run", "thread", "assistant", "nothing", "no run", "no thread"],
)
def test_a_stamp_copied_to_another_run_is_refused(other: RunKey) -> None:
    refused(stamped(), other)


def test_ids_cannot_be_shifted_between_the_fields() -> None:
    one = stamped(key=RunKey(run="ab", thread="c", assistant="d"))
    for other in (
        RunKey(run="a", thread="bc", assistant="d"),
        RunKey(run="ab", thread="cd", assistant=""),
        RunKey(run="c", thread="ab", assistant="d"),
    ):
        refused(one, other)


@pytest.mark.parametrize(
    "values", [{"principal": "acme/boss"}, {"principal": "globex/u1"}, {"principal": ""}]
)
def test_a_changed_principal_is_refused(values: dict[str, object]) -> None:
    refused(forged(**values))


@pytest.mark.parametrize("roles", [(), ("operator",), ("operator", "user"), ("user", "user")])
def test_changed_roles_are_refused(roles: tuple[str, ...]) -> None:
    refused(forged(roles=roles))


def test_roles_are_signed_in_a_fixed_order() -> None:
    one, other = stamped(roles=("user", "approver")).stamp, stamped(roles=("approver", "user")).stamp
    assert one == other
    assert one is not None
    assert one.roles == ("approver", "user")


def test_a_run_without_a_thread_of_its_own_is_known_as_one() -> None:
    assert stateless(stamped(key=STATELESS), KEY, secret=SECRET)
    assert stateless(stamped(key=STATELESS), STATELESS, secret=SECRET)
    assert not stateless(stamped(), KEY, secret=SECRET)
    assert stateless(FULL, KEY, secret=SECRET)


def test_a_changed_attendance_is_refused_both_ways() -> None:
    refused(forged(unattended=True))
    cron = stamped(unattended=True)
    assert verify(cron, KEY, secret=SECRET).unattended
    assert cron.stamp is not None
    refused(cron.model_copy(update={"stamp": cron.stamp.model_copy(update={"unattended": False})}))


CHANGES: dict[str, object] = {
    "tenant": "globex",
    "assistant": "sales",
    "release": "a1" * 32,
    "model": ModelChoice(name="openai:gpt-5"),
    "prompt": "You obey.",
    "tools": ("orders.get", "orders.refund", "files.delete"),
    "tool_limits": {},
    "policy_mode": "enforce",
    "approvals": {},
    "limits": Limits(),
    "compaction": None,
    "memory": MemoryRule(recall=6),
    "concurrency": None,
    "durability": "exit",
}


def test_every_field_of_the_context_is_changed_below() -> None:
    assert set(CHANGES) == set(AgentContext.model_fields) - {"stamp"}


@pytest.mark.parametrize("field", CHANGES)
def test_a_context_that_was_changed_after_the_door_is_refused(field: str) -> None:
    changed = stamped().model_copy(update={field: CHANGES[field]})
    assert getattr(changed, field) != getattr(FULL, field)
    refused(changed)


def test_a_stamp_of_another_server_is_refused() -> None:
    refused(stamped(secret=b"another server's secret, also 32 bytes"))
    refused(stamped(), secret=b"")


def test_the_refusal_tells_nothing_that_would_help_a_forger() -> None:
    good = stamped().stamp
    assert good is not None
    said = refused(forged(mac="0" * 64))
    assert good.mac not in said
    assert SECRET.decode() not in said


def test_a_stateless_run_gets_its_thread_after_the_stamp() -> None:
    admitted = stamped(key=STATELESS)
    assert verify(admitted, KEY, secret=SECRET) == admitted.stamp
    assert verify(admitted, replace(KEY, thread="thread-2"), secret=SECRET) == admitted.stamp


def test_a_stateless_stamp_is_still_of_one_run_and_one_assistant() -> None:
    admitted = stamped(key=STATELESS)
    refused(admitted, replace(KEY, run="run-2"))
    refused(admitted, replace(KEY, assistant="assistant-2"))


@given(key=keys, principal=text, unattended=st.booleans(), prompt=text)
def test_whatever_the_door_signs_it_recognises(
    *, key: RunKey, principal: str, unattended: bool, prompt: str
) -> None:
    base = context(prompt=prompt)
    admitted = stamped(base, key, principal=principal, unattended=unattended)
    assert verify(admitted, key, secret=SECRET) == Stamp(
        principal=principal,
        roles=("user",),
        unattended=unattended,
        mac=admitted.stamp.mac if admitted.stamp else "",
    )


@given(key=keys, other=keys)
def test_a_stamp_opens_its_own_run_only(key: RunKey, other: RunKey) -> None:
    admitted = stamped(key=key)
    same = key == other or (key.thread == "" and replace(other, thread="") == key)
    if same:
        assert verify(admitted, other, secret=SECRET) == admitted.stamp
    else:
        refused(admitted, other)


@given(mac=st.text(max_size=70))
def test_no_guess_is_a_mac(mac: str) -> None:
    refused(forged(mac=mac))


@given(one=text, other=text)
def test_contexts_that_differ_have_different_digests(one: str, other: str) -> None:
    equal = context_digest(context(prompt=one)) == context_digest(context(prompt=other))
    assert equal is (one == other)


def test_the_digest_leaves_the_stamp_out_and_does_not_depend_on_key_order() -> None:
    turned = dict(reversed(FULL.total().items()))
    assert list(turned) != list(FULL.total())
    digests = {context_digest(FULL), context_digest(stamped()), context_digest(AgentContext(**turned))}
    assert len(digests) == 1
    assert len(digests.pop()) == 64


def test_the_server_s_own_secret_goes_before_the_token_secret() -> None:
    assert secret_from({"SIGNALBOX_SERVER_SECRET": "one", "SIGNALBOX_JWT_SECRET": "two"}) == b"one"
    assert secret_from({"SIGNALBOX_JWT_SECRET": "two"}) == b"two"
    assert secret_from({"SIGNALBOX_SERVER_SECRET": "", "SIGNALBOX_JWT_SECRET": "two"}) == b"two"


@pytest.mark.parametrize("environment", [{}, {"SIGNALBOX_SERVER_SECRET": "", "SIGNALBOX_JWT_SECRET": ""}])
def test_a_server_without_a_secret_starts_no_run(environment: dict[str, str]) -> None:
    with pytest.raises(RunRefused, match="set SIGNALBOX_SERVER_SECRET"):
        secret_from(environment)


def test_the_secret_comes_from_the_process_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", "of the process")
    assert secret_from() == b"of the process"
    monkeypatch.delenv("SIGNALBOX_SERVER_SECRET")
    monkeypatch.delenv("SIGNALBOX_JWT_SECRET", raising=False)
    with pytest.raises(RunRefused):
        secret_from()


def test_an_empty_environment_is_not_the_process_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNALBOX_SERVER_SECRET", "of the process")
    with pytest.raises(RunRefused):
        secret_from({})


def test_the_run_s_ids_are_read_as_text() -> None:
    run = uuid.uuid4()
    found = run_key({"run_id": run, "thread_id": "t", "assistant_id": "a", "tenant": "globex"})
    assert found == RunKey(run=str(run), thread="t", assistant="a")


@pytest.mark.parametrize("configurable", [{}, {"run_id": None, "thread_id": None, "assistant_id": None}])
def test_ids_that_are_missing_are_empty_and_open_nothing(configurable: dict[str, None]) -> None:
    key = run_key(configurable)
    assert key == RunKey(run="", thread="", assistant="")
    refused(stamped(), key)
    refused(stamped(key=STATELESS), key)

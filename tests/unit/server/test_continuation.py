"""As whom a run goes on, and what it finds waiting."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from agent.context import Concurrency
from assistants.loader import Catalog, ResolvedAssistant
from assistants.principal import Principal
from assistants.server.access import Refused
from assistants.server.continuation import Continuation, continuation, visible
from assistants.server.run import RunRequest
from tests.unit.server.catalogs import catalog_in, found, toolbox
from tests.unit.server.waits import ANN, APPROVE, BOSS, NOON, ONE, OPERATOR, TWO, asked, thread

HELLO = {"messages": [{"role": "user", "content": "hello"}]}
BEN = Principal("acme", "ben", frozenset({"user"}))
CLEO = Principal("acme", "cleo", frozenset({"user", "approver"}))
SPY = Principal("globex", "boss", frozenset({"approver"}))
SCHEDULE = Principal("platform", "ops", frozenset())
OWN, TENANT = {"tenant": "acme", "owner": "acme/ann"}, {"tenant": "acme"}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return catalog_in(tmp_path_factory.mktemp("catalog"))


@pytest.fixture(scope="module")
def support(catalog: Catalog) -> ResolvedAssistant:
    return found(catalog, "acme", "support")


def run(*, message: object = None, resume: object = None, **values: Any) -> RunRequest:
    """A run on ann's thread, which waits for a refund of hers."""
    base = RunRequest(
        run="r",
        thread="t1",
        assistant=uuid.UUID(int=1),
        input=message,
        command=None if resume is None else {"resume": resume},
        metadata={},
        facts=thread(ONE),
        records=(asked(),),
    )
    return replace(base, **values)


def going(request: RunRequest, who: Principal, assistant: ResolvedAssistant) -> Continuation:
    answer = continuation(request, who, assistant, registry=toolbox(), now=NOON)
    assert isinstance(answer, Continuation), answer
    return answer


def of(assistant: ResolvedAssistant, **changes: Any) -> tuple[Any, ...]:
    """A record that this assistant's release asked for."""
    return (asked(release=assistant.context.release, **changes),)


# Who may know of the thread


@pytest.mark.parametrize(
    "kind", [{"message": HELLO}, {}, {"resume": APPROVE}], ids=["message", "on", "resume"]
)
def test_a_user_knows_the_own_threads(kind: dict[str, Any]) -> None:
    assert visible(run(**kind), ANN, "acme")
    assert not visible(run(**kind), BEN, "acme")
    assert not visible(run(**kind, facts=thread(ONE, tenant="globex")), ANN, "acme")


def test_an_approver_knows_what_waits_in_the_own_tenant() -> None:
    for kind in ({}, {"resume": APPROVE}):
        for who in (BOSS, CLEO):
            assert visible(run(**kind), who, "acme")
            assert not visible(run(**kind, facts=thread(), records=()), who, "acme")
            assert not visible(run(**kind, facts=thread(ONE), records=()), who, "acme")
        assert not visible(run(**kind), SPY, "globex")
        assert not visible(run(**kind, facts=None), BOSS, "acme")


def test_an_approver_may_say_the_answer_again_while_the_thread_waits() -> None:
    decided = (asked(state="approved", decided_by="acme/boss"),)
    assert visible(run(resume=APPROVE, records=decided), BOSS, "acme")
    assert not visible(run(resume=APPROVE, records=decided, facts=thread()), BOSS, "acme")


def test_a_proposal_shows_no_thread() -> None:
    assert not visible(run(facts=thread(), records=(asked(None),)), BOSS, "acme")


def test_a_seat_does_not_carry_messages_to_others_threads() -> None:
    assert not visible(run(message=HELLO), CLEO, "acme")
    assert not visible(run(message=HELLO), BOSS, "acme")


def test_a_thread_that_is_not_there_is_resumed_by_nobody() -> None:
    for who in (ANN, BOSS, CLEO):
        assert not visible(run(resume=APPROVE, facts=None), who, "acme")
    assert visible(run(message=HELLO, facts=None), ANN, "acme"), "it may be made, or was not looked at"


def test_operators_know_all_and_schedules_their_tenant_s() -> None:
    for facts in (None, thread(tenant="globex")):
        assert visible(run(facts=facts), OPERATOR, "acme")
    assert visible(run(message=HELLO), SCHEDULE, "acme")
    assert visible(run(message=HELLO, facts=None), SCHEDULE, "acme")
    assert not visible(run(message=HELLO, facts=thread(tenant="globex")), SCHEDULE, "acme")


# Answers


def test_an_answer_acts_for_who_asked_on_any_thread_of_the_tenant(support: ResolvedAssistant) -> None:
    answer = going(run(resume=APPROVE, records=of(support)), BOSS, support)
    assert answer.acting.identity == "acme/ann"
    assert answer.acting.roles == frozenset(), "no role is lent with the name"
    assert answer.filter == TENANT
    assert answer.resume == {ONE: APPROVE}
    ((identity, verdict),) = answer.verdicts.items()
    assert (identity, verdict.by) == (of(support)[0].id, "acme/boss")
    assert answer.withdrawn == ()


def test_an_operator_with_the_role_answers_anywhere(support: ResolvedAssistant) -> None:
    olga = Principal("acme", "olga", frozenset({"operator", "approver"}))
    answer = going(run(resume=APPROVE, records=of(support)), olga, support)
    assert (answer.acting.identity, answer.filter) == ("acme/ann", {})


def test_a_user_answers_on_the_own_thread_where_the_rule_says_so(support: ResolvedAssistant) -> None:
    records = of(support, role="user", self_approval=True)
    answer = going(run(resume=APPROVE, records=records), ANN, support)
    assert (answer.acting.identity, answer.filter) == ("acme/ann", OWN)


def test_who_asked_keeps_the_own_roles_and_gets_none_of_the_approver_s(support: ResolvedAssistant) -> None:
    records = of(support, requester_roles=("user",))
    assert going(run(resume=APPROVE, records=records), BOSS, support).acting.roles == {"user"}
    assert going(run(records=records, input=None), BOSS, support).acting.roles == {"user"}
    unknown = of(support, requester_roles=())
    assert going(run(resume=APPROVE, records=unknown), BOSS, support).acting.roles == frozenset()


def test_where_the_asker_s_name_was_not_kept_the_owner_of_the_thread_acts(support: ResolvedAssistant) -> None:
    records = of(support, requester="sha256:" + "0" * 64)
    assert going(run(resume=APPROVE, records=records), BOSS, support).acting.identity == "acme/ann"
    nameless = thread(ONE, owner="")
    answer = going(run(resume=APPROVE, records=records, facts=nameless), BOSS, support)
    assert answer.acting is BOSS


def test_an_answer_that_does_not_count_starts_nothing(support: ResolvedAssistant) -> None:
    for who, status in ((ANN, 403), (SCHEDULE, 403)):
        answer = continuation(
            run(resume=APPROVE, records=of(support)), who, support, registry=toolbox(), now=NOON
        )
        assert isinstance(answer, Refused)
        assert answer.status == status


def test_an_answer_by_a_stale_id_finds_the_record_that_tells_what_became_of_it(
    support: ResolvedAssistant,
) -> None:
    records = (*of(support, state="rejected", decided_by="acme/bea"), *of(support, interrupt=TWO))
    request = run(resume={ONE: APPROVE}, records=records, facts=thread(TWO))
    answer = continuation(request, BOSS, support, registry=toolbox(), now=NOON)
    assert isinstance(answer, Refused)
    assert "rejected by acme/bea already" in answer.detail


# Without a message


def test_a_run_without_a_message_goes_on_for_who_asked(support: ResolvedAssistant) -> None:
    for who, guard in ((BOSS, TENANT), (CLEO, TENANT), (OPERATOR, {})):
        answer = going(run(), who, support)
        assert (answer.acting.identity, answer.filter, answer.resume) == ("acme/ann", guard, None)


def test_a_lost_record_leaves_the_owner_of_the_thread(support: ResolvedAssistant) -> None:
    assert going(run(records=()), OPERATOR, support).acting.identity == "acme/ann"
    assert going(run(records=(), facts=None), OPERATOR, support).acting is OPERATOR


def test_a_user_goes_on_as_nobody_else(support: ResolvedAssistant) -> None:
    by_operator = (asked(requester="platform/ops"),)
    assert going(run(records=by_operator), ANN, support).acting is ANN


def test_an_operator_s_command_is_the_operator_s(support: ResolvedAssistant) -> None:
    assert going(run(command={"goto": "tools"}), OPERATOR, support).acting is OPERATOR


# A message


def test_a_message_on_a_waiting_thread_is_refused(support: ResolvedAssistant) -> None:
    """Case 10, for people, operators and schedules alike."""
    for who in (ANN, OPERATOR, SCHEDULE):
        answer = continuation(run(message=HELLO), who, support, registry=toolbox(), now=NOON)
        assert isinstance(answer, Refused)
        assert (answer.status, asked().id in answer.detail) == (409, True)


def test_a_message_may_withdraw_what_waits(support: ResolvedAssistant) -> None:
    rule = Concurrency(default="reject", allow=(), pending="reject")
    lenient = replace(support, context=support.context.model_copy(update={"concurrency": rule}))
    answer = going(run(message=HELLO), ANN, lenient)
    assert (answer.withdrawn, answer.acting, answer.filter) == ((asked().id,), ANN, OWN)


@pytest.mark.parametrize(
    "changes",
    [
        {"records": ()},
        {"records": (asked(None),)},
        {"records": (asked(state="approved"),)},
        {"facts": thread()},
        {"facts": None, "records": ()},
    ],
    ids=["none", "proposal", "decided", "gone on", "unknown"],
)
def test_a_message_meets_nothing_where_nothing_waits(
    support: ResolvedAssistant, changes: dict[str, Any]
) -> None:
    answer = going(run(message=HELLO, **changes), ANN, support)
    assert (answer.withdrawn, answer.acting) == ((), ANN)


def test_a_schedule_speaks_as_the_service(support: ResolvedAssistant) -> None:
    answer = going(run(message=HELLO, records=()), SCHEDULE, support)
    assert (answer.acting.identity, answer.filter) == ("acme/service", TENANT)
    assert going(run(records=()), SCHEDULE, support).acting.identity == "acme/service"

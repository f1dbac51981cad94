"""What a resume may say (field cases 8, 12, 15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context import AgentContext
from agent.ledger import Approval, Decided, Verdict
from assistants.principal import Principal
from assistants.server.access import Refused
from assistants.server.answers import Answers, Judge, Question, named, objection, parsed
from assistants.server.waiting import of_interrupts
from tests.unit.server.catalogs import toolbox
from tests.unit.server.waits import ANN, APPROVE, BOSS, CONTEXT, NOON, ONE, REJECT, THREE, TWO, asked, edit


def judge(who: Principal = BOSS, context: AgentContext = CONTEXT, now: datetime = NOON) -> Judge:
    return Judge(who, context, toolbox(), now)


def question(*records: Approval, waits: Sequence[str] = (ONE,)) -> Question:
    known = [*waits, *(record.request.interrupt or "" for record in records)]
    return Question(tuple(waits), of_interrupts(records, known))


def taken(answer: object, asks: Question, **who: Any) -> Answers:
    found = judge(**who).answers(answer, asks)
    assert isinstance(found, Answers), found
    return found


def refused(answer: object, asks: Question, **who: Any) -> Refused:
    found = judge(**who).answers(answer, asks)
    assert isinstance(found, Refused), found
    return found


# What counts


def test_an_approval_is_a_verdict_of_who_sent_it() -> None:
    found = taken({ONE: APPROVE}, question(asked()))
    assert found == Answers(
        resume={ONE: APPROVE},
        verdicts={asked().id: Verdict("approve", "acme/boss", frozenset({"approver"}))},
        requester="acme/ann",
    )


def test_a_rejection_carries_its_reason() -> None:
    (verdict,) = taken({ONE: REJECT}, question(asked())).verdicts.values()
    assert (verdict.decision, verdict.reason, verdict.edited) == ("reject", "no", None)


def test_an_edit_carries_its_arguments() -> None:
    changed = {"order": 1001, "amount": 120}
    (verdict,) = taken({ONE: edit(changed)}, question(asked())).verdicts.values()
    assert (verdict.decision, verdict.edited) == ("edit", changed)


def test_a_lone_answer_becomes_a_map_where_one_question_waits() -> None:
    assert taken(APPROVE, question(asked())).resume == {ONE: APPROVE}


def test_any_subset_of_what_waits_may_be_answered() -> None:
    both = question(asked(ONE), asked(TWO), waits=(ONE, TWO))
    assert set(taken({TWO: REJECT}, both).verdicts) == {asked(TWO).id}
    assert set(taken({TWO: REJECT, ONE: APPROVE}, both).verdicts) == {asked(ONE).id, asked(TWO).id}


def test_the_same_answer_again_counts_again() -> None:
    done = asked(state="approved", decided_by="acme/boss", granted_digest=asked().request.digest)
    other = replace(BOSS, user="bea")
    assert taken({ONE: APPROVE}, question(done), who=other).verdicts.keys() == {done.id}


# Which question


@pytest.mark.parametrize("answer", [APPROVE, REJECT, "yes", {}, None])
def test_a_lone_answer_to_several_questions_is_told_their_ids(answer: object) -> None:
    found = refused(answer, question(asked(ONE), asked(TWO), waits=(ONE, TWO)))
    assert found.status == 422
    assert f"{ONE}, {TWO}" in found.detail


@pytest.mark.parametrize("answer", [APPROVE, "yes", {}, {ONE: APPROVE}])
def test_where_nothing_waits_nothing_is_answered(answer: object) -> None:
    assert refused(answer, Question((), {})) == Refused(409, "Nothing waits for an answer on this thread.")


def test_an_unknown_id_is_told_what_waits() -> None:
    for answer in ({THREE: APPROVE}, {ONE: APPROVE, THREE: APPROVE}):
        found = refused(answer, question(asked()))
        assert (found.status, THREE in found.detail, ONE in found.detail) == (409, True, True)


def test_a_question_without_a_record_can_t_be_answered() -> None:
    for answer in (APPROVE, {ONE: APPROVE}):
        found = refused(answer, question())
        assert (found.status, "has no record" in found.detail, "input: null" in found.detail) == (
            409,
            True,
            True,
        )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": "approved", "decided_by": "acme/bea"}, "approved by acme/bea already"),
        ({"state": "rejected", "decided_by": "acme/bea"}, "rejected by acme/bea already"),
        ({"state": "expired"}, "in time"),
        ({"state": "superseded"}, "waits for no decision any more"),
        ({"state": "withdrawn"}, "waits for no decision any more"),
    ],
)
@pytest.mark.parametrize("waits", [(), (TWO,), (ONE,)], ids=["idle", "other", "same"])
def test_what_is_closed_says_how_it_was(changes: dict[str, Any], said: str, waits: tuple[str, ...]) -> None:
    other_word = edit({"order": 1001, "amount": 1})
    found = refused({ONE: other_word}, question(asked(**changes), asked(TWO), waits=waits))
    assert (found.status, said in found.detail) == (409, True), found


def test_answers_by_interrupt_are_known_by_their_ids() -> None:
    assert named({ONE: APPROVE, TWO: "x"}) == {ONE: APPROVE, TWO: "x"}
    for value in (APPROVE, {ONE: APPROVE, "x": 1}, {ONE.upper(): APPROVE}, [ONE], ONE, None, {}):
        assert named(value) == {}


# The form


WRONG: dict[str, object] = {
    "text": "yes",
    "true": True,
    "list": [APPROVE],
    "bare": {"type": "approve"},
    "more": {**APPROVE, "note": "x"},
    "no list": {"decisions": {"type": "approve"}},
    "no type": {"decisions": [{"message": "x"}]},
    "type is no text": {"decisions": [{"type": ["approve"]}]},
    "decision is text": {"decisions": ["approve"]},
    "arguments beside": {"decisions": [{"type": "approve", "args": {}}]},
    "message is no text": {"decisions": [{"type": "reject", "message": 5}]},
    "edit in an approval": {"decisions": [{**edit({})["decisions"][0], "type": "approve"}]},
    "edit without action": {"decisions": [{"type": "edit"}]},
    "edit without name": {"decisions": [{"type": "edit", "edited_action": {"args": {}}}]},
    "edit without arguments": {"decisions": [{"type": "edit", "edited_action": {"name": "orders_refund"}}]},
    "edit with more": {
        "decisions": [{"type": "edit", "edited_action": {"name": "orders_refund", "args": {}, "id": "x"}}]
    },
    "edit with a list": edit([]),
    "edit is text": {"decisions": [{"type": "edit", "edited_action": "x"}]},
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG.keys())
def test_an_answer_of_another_form_is_refused_with_the_right_one(answer: object) -> None:
    for sent in (answer, {ONE: answer}):
        found = refused(sent, question(asked()))
        assert (found.status, '{"decisions": [one]}' in found.detail) == (422, True), found


@pytest.mark.parametrize("count", [0, 2, 3])
def test_a_question_takes_one_decision(count: int) -> None:
    """Case 8: two decisions for one call bricked the approval."""
    found = refused({"decisions": [{"type": "approve"}] * count}, question(asked()))
    assert found == Refused(422, f"orders.refund asks for one decision; {count} were sent.")


@pytest.mark.parametrize("kind", ["respond", "accept", "ignore", "APPROVE", ""])
def test_only_the_three_decisions_exist(kind: str) -> None:
    """Case 12: an upgrade added a fourth and widened reviewers' powers."""
    found = refused({"decisions": [{"type": kind}]}, question(asked()))
    assert found == Refused(422, f"{kind!r} is no decision; expected one of approve, edit, reject.")


def test_only_what_the_question_allows_may_be_decided() -> None:
    asks = question(asked(decisions=("approve", "reject")))
    found = refused(edit({"order": 1001, "amount": 120}), asks)
    assert found == Refused(422, "That can't be decided on orders.refund; expected one of approve, reject.")


scraps: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["approve", "edit", "reject", ONE, "x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(
                ("decisions", "type", "message", "edited_action", "name", "args", ONE), inner
            ),
        )
    ),
    max_leaves=10,
)


@given(answer=scraps)
def test_whatever_is_sent_counts_or_is_refused_in_words(answer: Any) -> None:
    found = judge().answers(answer, question(asked()))
    if isinstance(found, Refused):
        assert found.status in (409, 422)
        assert found.detail
    else:
        assert set(found.resume) == {ONE}
        assert set(found.verdicts) == {asked().id}


# Edits


@pytest.mark.parametrize("name", ["orders_get", "orders.refund", "ORDERS_REFUND", "", None, 5])
def test_an_edit_renames_no_tool(name: object) -> None:
    """Case 15: the edit swapped the tool past its gate."""
    found = refused(edit({"number": 1001}, name), question(asked()))
    assert found == Refused(422, "An edit changes arguments, not the tool; the name must be 'orders_refund'.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"order": 1001}, "amount: Field required"),
        (
            {"order": "x", "amount": 1},
            "order: Input should be a valid integer, unable to parse string as an integer",
        ),
        ({"order": 1001, "amount": 1, "tenant": "globex"}, "tenant: Extra inputs are not permitted"),
        ({"order": 1001, "amount": 1, "call": {}}, "call: Extra inputs are not permitted"),
        ({}, "order: Field required; amount: Field required"),
    ],
)
def test_edited_arguments_fit_the_tool(arguments: dict[str, Any], said: str) -> None:
    found = refused(edit(arguments), question(asked()))
    assert found == Refused(422, f"The edited arguments don't fit orders.refund: {said}.")
    assert "globex" not in found.detail


def test_edited_arguments_obey_the_assistant_s_limits() -> None:
    found = refused(edit({"order": 1001, "amount": 501}), question(asked()))
    assert (found.status, "argument 'amount' must be at most 500" in found.detail) == (422, True)
    assert taken(edit({"order": 1001, "amount": 500}), question(asked()))


def test_an_edit_of_a_tool_that_is_gone_is_refused_and_a_rejection_is_not() -> None:
    without = CONTEXT.model_copy(update={"tools": ("orders.get",)})
    found = refused(edit({"order": 1001, "amount": 1}), question(asked()), context=without)
    assert (found.status, "not among the assistant's tools" in found.detail) == (422, True)
    assert taken(REJECT, question(asked()), context=without)


# Who and when


def test_without_the_role_nobody_decides() -> None:
    for who in (ANN, Principal("platform", "ops", frozenset({"operator"}))):
        assert refused(APPROVE, question(asked()), who=who) == Refused(
            403, "Deciding on orders.refund takes the role 'approver'; ask somebody with it."
        )
    assert refused(APPROVE, question(asked(role="operator"))).status == 403


def test_nobody_decides_on_the_own_request_unless_the_rule_says_so() -> None:
    both = Principal("acme", "ann", frozenset({"user", "approver"}))
    assert refused(APPROVE, question(asked()), who=both) == Refused(
        403, "You asked for orders.refund yourself, so somebody else has to decide on it."
    )
    assert taken(APPROVE, question(asked(self_approval=True)), who=both)


def test_nobody_decides_too_late() -> None:
    found = refused(APPROVE, question(asked()), now=NOON + timedelta(hours=1))
    assert (found.status, "Nobody decided on orders.refund in time" in found.detail) == (409, True)


def test_an_answer_counts_for_the_release_that_asked() -> None:
    """Invariant 5."""
    newer = CONTEXT.model_copy(update={"release": "r2"})
    for answer in (APPROVE, REJECT, edit({"order": 1001, "amount": 1})):
        found = refused(answer, question(asked()), context=newer)
        assert (found.status, "another release" in found.detail) == (409, True)
        assert "input: null" in found.detail


def test_one_answer_that_does_not_count_takes_all_with_it() -> None:
    both = question(asked(ONE), asked(TWO, self_approval=True), waits=(ONE, TWO))
    person = Principal("acme", "ann", frozenset({"approver"}))
    assert refused({ONE: APPROVE, TWO: APPROVE}, both, who=person).status == 403


def test_a_decision_that_counts_has_no_objection() -> None:
    with pytest.raises(TypeError):
        objection(Decided(asked()), asked())


def test_an_answer_is_read_alone_too() -> None:
    assert parsed("x", asked().request) != parsed(APPROVE, asked().request)

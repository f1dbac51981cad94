"""Guards of invariant 2 by people: no gated call runs without a decision that counts."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a gated call asks",
        2,
        "src/agent/middleware/guard.py",
        old="        if verdict.rule is not None:\n            return await",
        new="        if False:\n            return await",
        tests=(
            (
                "tests/graph/test_approvals.py::"
                "test_a_gated_call_waits_and_is_executed_once_after_the_approval"
            ),
        ),
    ),
    Mutant(
        "a tool's own rule asks where the file says nothing",
        2,
        "src/agent/policy.py",
        old="if rule is None and tool.approval is not None:",
        new="if False:",
        tests=(
            (
                "tests/unit/agent/test_policy.py::"
                "test_a_tool_s_own_predicate_holds_where_the_file_says_nothing"
            ),
        ),
    ),
    Mutant(
        "what can't be compared asks",
        2,
        "src/agent/predicate.py",
        old="            return True\n        return _evaluate",
        new="            return False\n        return _evaluate",
        tests=("tests/unit/agent/test_policy.py::test_an_amount_that_cannot_be_compared_asks",),
    ),
    Mutant(
        "a resume value executes nothing",
        2,
        "src/agent/gate.py",
        old="            interrupt(question.shown(request))\n",
        new=(
            "            interrupt(question.shown(request))\n"
            '            return Approval(id=request.id, request=request, state="approved", '
            "granted_digest=request.digest)\n"
        ),
        tests=(
            (
                "tests/graph/test_approvals.py::"
                "test_a_resume_value_alone_executes_nothing_and_leaves_the_question_open"
            ),
        ),
    ),
    Mutant(
        "a rejection executes nothing",
        2,
        "src/agent/gate.py",
        old='if record.state == "approved":',
        new='if record.state in ("approved", "rejected"):',
        tests=(
            (
                "tests/graph/test_approvals.py::"
                "test_a_rejected_call_is_not_executed_and_the_answer_is_made_without_tools"
            ),
        ),
    ),
    Mutant(
        "what was granted is asked for right before",
        2,
        "src/agent/middleware/guard.py",
        old="            refused = await last_check()\n",
        new="            refused = None\n",
        tests=(
            (
                "tests/graph/test_approvals.py::"
                "test_a_gated_call_waits_and_is_executed_once_after_the_approval"
            ),
        ),
    ),
    Mutant(
        "an edit obeys the policy at execution",
        2,
        "src/agent/middleware/guard.py",
        old="refused = permitted(attempt.policy, call).denial",
        new="refused = None",
        tests=("tests/graph/test_approvals.py::test_an_edit_beyond_the_policy_is_not_executed",),
    ),
    Mutant(
        "an edit fits schema and limits at the door",
        2,
        "src/assistants/server/answers.py",
        old="return self._unfit(asked, said) or verdict",
        new="return verdict",
        tests=("tests/unit/server/test_answers.py::test_edited_arguments_fit_the_tool",),
    ),
    Mutant(
        "an edit renames no tool",
        2,
        "src/assistants/server/answers.py",
        old="if name != wire_name(asked.tool):",
        new="if False:",
        tests=("tests/unit/server/test_answers.py::test_an_edit_renames_no_tool",),
    ),
    Mutant(
        "an answer is one decision",
        2,
        "src/assistants/server/answers.py",
        old="if len(several) != 1:",
        new="if not several:",
        tests=("tests/unit/server/test_answers.py::test_a_question_takes_one_decision",),
    ),
    Mutant(
        "a lone answer is for one question",
        2,
        "src/assistants/server/answers.py",
        old="        case (interrupt,):\n",
        new="        case (interrupt, *_):\n",
        tests=(
            "tests/unit/server/test_answers.py::test_a_lone_answer_to_several_questions_is_told_their_ids",
        ),
    ),
    Mutant(
        "an unattended run asks nobody",
        2,
        "src/agent/middleware/admission.py",
        old="waits = not stamp.unattended and not stateless(context, key, secret=secret)",
        new="waits = True",
        tests=("tests/graph/test_approvals.py::test_an_unattended_run_proposes_and_goes_on",),
    ),
    Mutant(
        "an unattended run executes nothing gated",
        2,
        "src/agent/gate.py",
        old="return Withheld(proposed(question.tool.name), proposal)",
        new='return Granted(question.call["args"], proposal)',
        tests=("tests/graph/test_approvals.py::test_an_unattended_run_proposes_and_goes_on",),
    ),
    Mutant(
        "ungated writes wait for the decisions",
        2,
        "src/agent/middleware/guard.py",
        old='if tool.risk != "read" and await self._must_wait(attempt):',
        new="if False:",
        tests=(
            (
                "tests/graph/test_approvals.py::"
                "test_reads_run_at_once_and_ungated_writes_wait_for_the_decisions"
            ),
        ),
    ),
    Mutant(
        "nobody decides too late",
        2,
        "src/agent/ledger/approval.py",
        old="    if approval.expired(now):\n        return Expired",
        new='    if approval.state == "expired":\n        return Expired',
        tests=("tests/unit/ledger/test_approval.py::test_nobody_decides_from_the_moment_of_expiry",),
    ),
    Mutant(
        "deciding takes the role",
        2,
        "src/agent/ledger/approval.py",
        old="if request.role not in verdict.roles:",
        new="if False:",
        tests=("tests/unit/ledger/test_approval.py::test_a_verdict_that_does_not_count_is_refused",),
    ),
    Mutant(
        "nobody approves the own request",
        2,
        "src/agent/ledger/approval.py",
        old=("if not request.self_approval and stored(verdict.by) == stored(request.requester):"),
        new="if False:",
        tests=("tests/unit/ledger/test_approval.py::test_a_verdict_that_does_not_count_is_refused",),
    ),
    Mutant(
        "only what is offered can be decided",
        2,
        "src/agent/ledger/approval.py",
        old="if verdict.decision not in request.decisions:",
        new="if False:",
        tests=("tests/unit/ledger/test_approval.py::test_a_verdict_that_does_not_count_is_refused",),
    ),
    Mutant(
        "a turn asks no more than it may",
        2,
        "src/agent/verdict.py",
        old='if over_approvals(limits, messages, call["id"] or "", gated=gated):',
        new="if False:",
        tests=("tests/graph/test_approvals.py::test_a_turn_asks_no_more_than_it_may",),
    ),
    Mutant(
        "after rejections no tools are offered",
        2,
        "src/agent/limits.py",
        old="return Stop(REJECTED_ALL, 0, 0) if used.rejected else None",
        new="return None",
        tests=(
            (
                "tests/graph/test_approvals.py::"
                "test_a_rejected_call_is_not_executed_and_the_answer_is_made_without_tools"
            ),
        ),
    ),
    Mutant(
        "a proposal is carried out after its approval",
        2,
        "src/agent/proposal.py",
        old="    if not granted:\n",
        new="    if False:\n",
        tests=("tests/unit/agent/test_proposal.py::test_what_nobody_approved_is_not_carried_out",),
    ),
    Mutant(
        "a proposal obeys the policy",
        2,
        "src/agent/proposal.py",
        old="if verdict.denial is not None or verdict.tool is None:",
        new="if verdict.tool is None:",
        tests=("tests/unit/agent/test_proposal.py::test_the_policy_of_the_release_that_serves_holds",),
    ),
)

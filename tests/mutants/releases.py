"""Guards of invariant 5: an approval counts for the release and the arguments that asked."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "an approval grants the arguments that were asked for",
        5,
        "src/agent/ledger/approval.py",
        old="            self.granted_digest == digest\n            and ",
        new="            ",
        tests=(
            (
                "tests/unit/ledger/test_approval.py::"
                "test_an_edit_lets_the_new_arguments_run_and_not_the_asked_ones"
            ),
        ),
    ),
    Mutant(
        "an approval grants the release that asked",
        5,
        "src/agent/ledger/approval.py",
        old="            and self.request.release == stored(release)\n",
        new="",
        tests=(
            (
                "tests/unit/ledger/test_approval.py::"
                "test_an_approval_counts_for_the_release_and_arguments_that_asked"
            ),
        ),
    ),
    Mutant(
        "other arguments are another question",
        5,
        "src/agent/ledger/approval.py",
        old="self.call_id, self.digest, self.release)",
        new="self.call_id, self.release)",
        tests=(
            "tests/unit/ledger/test_approval.py::test_another_call_release_or_argument_is_another_record",
        ),
    ),
    Mutant(
        "another release asks anew",
        5,
        "src/agent/ledger/approval.py",
        old="self.call_id, self.digest, self.release)",
        new="self.call_id, self.digest)",
        tests=(
            "tests/unit/ledger/test_approval.py::test_another_call_release_or_argument_is_another_record",
        ),
    ),
    Mutant(
        "a new question closes the earlier ones of its call",
        5,
        "src/agent/ledger/approvals.py",
        old="await _supersede_others(connection, asked)",
        new="pass",
        tests=("tests/unit/ledger/test_approvals.py::test_other_arguments_or_another_release_ask_anew",),
    ),
    Mutant(
        "an answer counts for the release that asked",
        5,
        "src/assistants/server/answers.py",
        old="foreign = record.request.release != stored(self.context.release)",
        new="foreign = False",
        tests=("tests/unit/server/test_answers.py::test_an_answer_counts_for_the_release_that_asked",),
    ),
    Mutant(
        "a proposal is carried out by the release that proposed it",
        5,
        "src/agent/proposal.py",
        old="if context.release != request.release:",
        new="if False:",
        tests=("tests/unit/agent/test_proposal.py::test_the_policy_of_the_release_that_serves_holds",),
    ),
)

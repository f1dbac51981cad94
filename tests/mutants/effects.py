"""Guards of invariant 4: an effect happens at most once per decision."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "the shop knows a decision by its key",
        4,
        "src/agent/shop/refunds.py",
        old="    if earlier is not None:\n",
        new="    if earlier is not None and not key:\n",
        tests=(
            (
                "tests/unit/shop/test_refunds.py::"
                "TestRecording::test_the_same_decision_gives_the_earlier_refund"
            ),
        ),
    ),
    Mutant(
        "a key stands for one content",
        4,
        "src/agent/shop/refunds.py",
        old=("if (earlier.order, earlier.amount.minor, earlier.reason) != (order, amount_minor, reason):"),
        new="if False:",
        tests=("tests/unit/shop/test_refunds.py::TestRecording::test_a_key_stands_for_one_content",),
    ),
    Mutant(
        "the idempotency key is the call's, across a kill",
        4,
        "src/agent/tools/registry.py",
        old='return f"{self.tenant}:{self.thread}:{self.call_id}"',
        new="return f\"{self.tenant}:{self.thread}:{self.call_id}:{__import__('os').getpid()}\"",
        tests=("tests/server/test_crash.py::test_the_tool_runs_again_and_the_refund_is_made_once",),
    ),
    Mutant(
        "the idempotency key names the thread",
        4,
        "src/agent/tools/registry.py",
        old='return f"{self.tenant}:{self.thread}:{self.call_id}"',
        new='return f"{self.tenant}:{self.call_id}"',
        tests=(
            (
                "tests/unit/agent/test_registry.py::"
                "test_the_key_of_an_effect_is_the_same_for_every_retry_and_for_nothing_else"
            ),
        ),
    ),
    Mutant(
        "an approval is used up for one key",
        4,
        "src/agent/ledger/approval.py",
        old="            and self.consumed_key in {None, stored(key)}\n",
        new="",
        tests=(
            "tests/unit/ledger/test_approval.py::test_a_consumed_approval_is_granted_to_its_own_key_only",
        ),
    ),
    Mutant(
        "an approval's use is written",
        4,
        "src/agent/ledger/approvals.py",
        old="used = replace(found, consumed_at=now, consumed_key=key)",
        new="used = found",
        tests=("tests/unit/ledger/test_approvals.py::test_an_approval_is_consumed_for_one_idempotency_key",),
    ),
    Mutant(
        "the first decision stays",
        4,
        "src/agent/ledger/approval.py",
        old='if approval.state != "pending" and not (again and _same(approval, verdict)):',
        new="if False:",
        tests=("tests/unit/ledger/test_approval.py::test_the_first_decision_stays",),
    ),
    Mutant(
        "decisions are taken all or none",
        4,
        "src/agent/ledger/approvals.py",
        old="if all(isinstance(ruling, Decided) for ruling in rulings.values()):",
        new="if True:",
        tests=(
            "tests/unit/ledger/test_approvals.py::test_one_decision_that_does_not_count_takes_all_with_it",
        ),
    ),
    Mutant(
        "the same call runs once in a turn",
        4,
        "src/agent/verdict.py",
        old="if repeats_earlier(messages, identity, volatile=frozenset()):",
        new="if False:",
        tests=("tests/graph/test_limits.py::test_a_repeated_call_is_not_executed_and_a_changed_one_is",),
    ),
)

"""Guards of invariant 6: spend is refused before the call, however often a turn resumes."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "what a request may take is reserved before",
        6,
        "src/agent/meter.py",
        old="        if isinstance(held, Exhausted):\n            raise",
        new="        if isinstance(held, Exhausted) and not held.bound:\n            raise",
        tests=("tests/graph/test_budgets.py::test_a_turn_out_of_tokens_ends_with_an_answer_that_says_so",),
    ),
    Mutant(
        "the closing answer is kept back",
        6,
        "src/agent/meter.py",
        old="keep=NOTHING if self.closing else _spend(price, request.tokens_in, CLOSING),",
        new="keep=NOTHING,",
        tests=("tests/unit/agent/test_meter.py::test_a_request_must_leave_what_the_closing_answer_needs",),
    ),
    Mutant(
        "a call that broke off is charged",
        6,
        "src/agent/models/metering.py",
        old="certain=reading.usage is not None or (ending is not None and _unpaid(ending)),",
        new="certain=True,",
        tests=("tests/graph/test_budgets.py::test_an_answer_that_broke_off_is_charged_at_what_was_reserved",),
    ),
    Mutant(
        "a cancelled call is settled",
        6,
        "src/agent/models/metering.py",
        old="        await asyncio.shield(_close(receipt, asked))\n",
        new=(
            "        if ending is None or isinstance(ending, Exception):\n"
            "            await _close(receipt, asked)\n"
        ),
        tests=("tests/graph/test_budgets.py::test_a_cancelled_run_is_charged_at_what_was_reserved",),
    ),
    Mutant(
        "an unknown price is no price of zero",
        6,
        "src/agent/meter.py",
        old="if price is None and any(amount is not None for amount in limited):",
        new="if False:",
        tests=(
            "tests/graph/test_budgets.py::test_a_model_without_a_price_is_not_asked_when_money_is_limited",
        ),
    ),
    Mutant(
        "money of a turn is bound",
        6,
        "src/agent/ledger/budget.py",
        old='        ("usd_per_run", money, used["micros"], bounds.micros),\n',
        new="",
        tests=("tests/unit/ledger/test_budget.py::test_money_is_bound_by_turn_assistant_and_tenant",),
    ),
    Mutant(
        "money of an assistant's day is bound",
        6,
        "src/agent/ledger/budget.py",
        old='        ("usd_per_day", money, standing.assistant_day, bounds.assistant_day),\n',
        new="",
        tests=("tests/unit/ledger/test_budget.py::test_money_is_bound_by_turn_assistant_and_tenant",),
    ),
    Mutant(
        "money of a tenant's day is bound",
        6,
        "src/agent/ledger/budget.py",
        old='        ("tenant_usd_per_day", money, standing.tenant_day, bounds.tenant_day),\n',
        new="",
        tests=("tests/unit/ledger/test_budget.py::test_money_is_bound_by_turn_assistant_and_tenant",),
    ),
    Mutant(
        "the tenant's ceiling reaches the ledger",
        6,
        "src/agent/meter.py",
        old="tenant_usd_per_day=limits.tenant_usd_per_day,",
        new="tenant_usd_per_day=None,",
        tests=("tests/graph/test_budgets.py::test_a_day_s_money_is_gone_for_every_thread",),
    ),
    Mutant(
        "tokens of a turn are bound",
        6,
        "src/agent/ledger/budget.py",
        old='        ("tokens", wanted["tokens"], used["tokens"], bounds.tokens),\n',
        new="",
        tests=("tests/unit/ledger/test_budget.py::test_the_last_one_is_allowed_and_the_next_refused",),
    ),
    Mutant(
        "seconds of a turn are bound",
        6,
        "src/agent/ledger/budget.py",
        old="if bounds.seconds is not None and seconds >= bounds.seconds:",
        new="if False:",
        tests=("tests/unit/ledger/test_budget.py::test_time_binds_everything_at_the_limit_and_not_before",),
    ),
    Mutant(
        "a reservation counts at once",
        6,
        "src/agent/ledger/budgets.py",
        old="accounts.count(connection, turn, spend.amounts())",
        new="pass",
        tests=(
            (
                "tests/unit/ledger/test_budgets.py::"
                "test_a_reservation_counts_at_once_and_a_settlement_corrects_it"
            ),
        ),
    ),
    Mutant(
        "one decision is reserved once",
        6,
        "src/agent/ledger/budgets.py",
        old='if earlier is not None and earlier["state"] != "released":',
        new="if False:",
        tests=("tests/unit/ledger/test_budgets.py::test_money_counts_on_the_day_of_its_reservation",),
    ),
    Mutant(
        "what is late gives nothing back",
        6,
        "src/agent/ledger/budgets.py",
        old='late = now >= row["expires_at"]',
        new="late = False",
        tests=("tests/unit/ledger/test_budgets.py::test_a_crash_never_makes_a_call_free",),
    ),
    Mutant(
        "tool calls are counted over every attempt",
        6,
        "src/agent/middleware/guard.py",
        old=("return used_up(limits.tool_calls or 0) if isinstance(counted, Exhausted) else None"),
        new="return None",
        tests=(
            "tests/graph/test_lost_calls.py::test_calls_that_the_thread_has_lost_still_count_for_the_turn",
        ),
    ),
    Mutant(
        "calls beyond the turn's are not executed",
        6,
        "src/agent/verdict.py",
        old="if over_tool_calls(limits, messages, identity):",
        new="if False:",
        tests=(
            (
                "tests/unit/agent/test_verdict.py::"
                "test_a_call_beyond_the_turn_s_calls_is_denied_and_not_asked_about"
            ),
        ),
    ),
    Mutant(
        "super-steps end a turn",
        6,
        "src/agent/limits.py",
        old='("steps", used.steps + _ROUND + 1 > (limits.steps or 0),',
        new='("steps", False,',
        tests=("tests/unit/agent/test_limits.py::test_the_limit_that_ends_a_turn",),
    ),
    Mutant(
        "model calls end a turn",
        6,
        "src/agent/limits.py",
        old="used.model_calls + 1 >= (limits.model_calls or 0),",
        new="False,",
        tests=("tests/unit/agent/test_limits.py::test_the_limit_that_ends_a_turn",),
    ),
    Mutant(
        "tool calls end a turn",
        6,
        "src/agent/limits.py",
        old='("tool_calls", used.tool_calls >= (limits.tool_calls or 0),',
        new='("tool_calls", False,',
        tests=("tests/unit/agent/test_limits.py::test_the_limit_that_ends_a_turn",),
    ),
    Mutant(
        "repeats end a turn",
        6,
        "src/agent/limits.py",
        old='("repeats", used.repeats >= (limits.repeats or 0),',
        new='("repeats", False,',
        tests=("tests/unit/agent/test_limits.py::test_the_limit_that_ends_a_turn",),
    ),
    Mutant(
        "the last answer is offered no tools",
        6,
        "src/agent/middleware/limits.py",
        old="tools=[], system_message=",
        new="system_message=",
        tests=("tests/graph/test_limits.py::test_a_looping_model_is_stopped_with_an_answer",),
    ),
    Mutant(
        "calls of the last answer are dropped",
        6,
        "src/agent/middleware/limits.py",
        old='            "tool_calls": [],\n',
        new="",
        tests=(
            "tests/graph/test_limits.py::test_a_model_that_calls_on_when_it_may_not_gets_no_call_through",
        ),
    ),
    Mutant(
        "a summary is paid from the turn's budget",
        6,
        "src/agent/models/metering.py",
        old="return counting(by.aside(node) if by else None)",
        new="return counting(None)",
        tests=("tests/graph/test_budgets.py::test_a_summary_is_paid_from_the_same_budget",),
    ),
    Mutant(
        "a tenant's runs a minute are bound",
        6,
        "src/assistants/server/auth.py",
        old="    await _spend(verdict.assistant.tenant, request.thread)\n",
        new="",
        tests=("tests/unit/server/test_auth.py::test_a_tenant_starts_no_more_runs_than_its_file_allows",),
    ),
)

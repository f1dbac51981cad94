"""Guards of invariant 1: no tenant sees, runs, changes or infers anything of another."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "what no handler allows is denied",
        1,
        "src/assistants/server/auth.py",
        old='"action": ctx.action})\n    return False',
        new='"action": ctx.action})\n    return True',
        tests=("tests/unit/server/test_auth.py::test_what_no_handler_knows_is_refused",),
    ),
    Mutant(
        "a thread is its owner's",
        1,
        "src/assistants/server/access.py",
        old='return {"tenant": who.tenant, "owner": who.identity}',
        new='return {"tenant": who.tenant}',
        tests=("tests/unit/server/test_access.py::test_access",),
    ),
    Mutant(
        "a user's action on a thread is filtered",
        1,
        "src/assistants/server/access.py",
        old="_beyond_own(action, value) or Allowed({**ownership(who)})",
        new="_beyond_own(action, value) or Allowed({})",
        tests=("tests/unit/server/test_access.py::test_access",),
    ),
    Mutant(
        "assistants are filtered by tenant",
        1,
        "src/assistants/server/access.py",
        old='return Allowed({"tenant": who.tenant, "kind": CHANNEL})',
        new='return Allowed({"kind": CHANNEL})',
        tests=("tests/unit/server/test_access.py::test_access",),
    ),
    Mutant(
        "schedules are filtered by tenant",
        1,
        "src/assistants/server/access.py",
        old='return Allowed({"tenant": who.tenant})',
        new="return Allowed({})",
        tests=("tests/unit/server/test_access.py::test_access",),
    ),
    Mutant(
        "approvers search the own tenant",
        1,
        "src/assistants/server/access.py",
        old='marked: Filter = {"tenant": who.tenant, WAITING: True}',
        new="marked: Filter = {WAITING: True}",
        tests=("tests/unit/server/test_access.py::test_access",),
    ),
    Mutant(
        "the store is a space of one's own",
        1,
        "src/assistants/server/access.py",
        old="return asked if asked[:2] == space else (*space, *asked)",
        new="return asked or space",
        tests=("tests/unit/server/test_access.py::test_a_namespace_lies_in_the_caller_s_own_space",),
    ),
    Mutant(
        "a new thread is marked as its maker's",
        1,
        "src/assistants/server/auth.py",
        old="metadata.update(access.ownership(who))",
        new="metadata.update({})",
        tests=(
            (
                "tests/unit/server/test_auth.py::"
                "test_a_new_thread_is_marked_as_its_maker_s_whatever_the_maker_says"
            ),
        ),
    ),
    Mutant(
        "a run is of the caller's tenant",
        1,
        "src/assistants/server/door.py",
        old=" and who.tenant == assistant.tenant",
        new="",
        tests=(
            (
                "tests/unit/server/test_door.py::"
                "test_another_tenant_s_assistant_is_not_found_in_the_same_words"
            ),
        ),
    ),
    Mutant(
        "a schedule runs for its own tenant",
        1,
        "src/assistants/server/door.py",
        old='return request.metadata.get("tenant") == assistant.tenant',
        new="return True",
        tests=("tests/unit/server/test_door.py::test_a_schedule_of_another_tenant_or_of_none_runs_nothing",),
    ),
    Mutant(
        "a thread serves one tenant",
        1,
        "src/assistants/server/door.py",
        old="if earlier is not None and earlier.tenant == assistant.tenant:",
        new="if earlier is not None:",
        tests=(
            "tests/unit/server/test_door.py::test_a_thread_that_served_one_tenant_does_not_serve_another",
        ),
    ),
    Mutant(
        "a foreign thread is as unknown as none",
        1,
        "src/assistants/server/door.py",
        old="if not visible(request, who, assistant.tenant):",
        new="if False:",
        tests=("tests/unit/server/test_door.py::test_an_approver_without_a_seat_runs_nothing",),
    ),
    Mutant(
        "side doors of the server are shut",
        1,
        "src/assistants/server/surround.py",
        old="return any(plain == door",
        new="return False and any(plain == door",
        tests=("tests/unit/server/test_surround.py::test_a_side_door_is_shut_however_it_is_written",),
    ),
    Mutant(
        "an approval is decided in its own tenant",
        1,
        "src/agent/ledger/approvals.py",
        old=(
            "            if found is None or found.request.tenant != stored(tenant):\n                return"
        ),
        new="            if found is None:\n                return",
        tests=("tests/unit/ledger/test_approvals.py::test_another_tenants_request_is_unknown",),
    ),
    Mutant(
        "several approvals are decided in their own tenant",
        1,
        "src/agent/ledger/approvals.py",
        old=(
            "                if found is None or found.request.tenant != stored(tenant):\n"
            "                    rulings"
        ),
        new="                if found is None:\n                    rulings",
        tests=(
            "tests/unit/ledger/test_approvals.py::test_an_unknown_or_a_foreign_request_takes_all_with_it",
        ),
    ),
    Mutant(
        "a stored result is read on its own thread",
        1,
        "src/agent/ledger/results.py",
        old=("table.tenant == tenant, table.thread == thread, table.call_id == call_id\n        )"),
        new="table.tenant == tenant, table.call_id == call_id\n        )",
        tests=(
            (
                "tests/unit/tools/test_results.py::"
                "TestWhose::test_another_tenants_or_threads_result_is_as_unknown_as_none"
            ),
        ),
    ),
    Mutant(
        "a stored result is read by its own tenant",
        1,
        "src/agent/ledger/results.py",
        old=("table.tenant == tenant, table.thread == thread, table.call_id == call_id\n        )"),
        new="table.thread == thread, table.call_id == call_id\n        )",
        tests=(
            (
                "tests/unit/tools/test_results.py::"
                "TestWhose::test_another_tenants_or_threads_result_is_as_unknown_as_none"
            ),
        ),
    ),
)

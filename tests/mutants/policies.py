"""Guards of invariant 2 in the policy: no tool runs that the assistant's file does not allow so."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "the model is shown its own tools",
        2,
        "src/agent/middleware/guard.py",
        old=" and tool.name in wires",
        new="",
        tests=("tests/unit/agent/test_guard.py::test_the_model_sees_its_assistant_s_tools_only",),
    ),
    Mutant(
        "the whitelist holds at execution",
        2,
        "src/agent/middleware/guard.py",
        old="policy=Policy.of(run.context, self._registry),",
        new=(
            'policy=Policy.of(run.context.model_copy(update={"tools": '
            "tuple(self._registry.names())}), self._registry),"
        ),
        tests=("tests/unit/agent/test_guard.py::test_a_hidden_tool_is_not_executed_when_the_model_names_it",),
    ),
    Mutant(
        "the whitelist is the file's",
        2,
        "src/agent/policy.py",
        old="registry.select(context.tools)",
        new="registry",
        tests=("tests/unit/agent/test_policy.py::test_an_assistant_without_tools_has_none",),
    ),
    Mutant(
        "a tool that requires roles needs them",
        2,
        "src/agent/policy.py",
        old=" if tool.scopes <= roles)",
        new=")",
        tests=("tests/unit/agent/test_policy.py::test_a_tool_that_requires_roles_needs_all_of_them",),
    ),
    Mutant(
        "arguments fit the schema",
        2,
        "src/agent/verdict.py",
        old="denial = _unusable(tool, call)",
        new="denial = None",
        tests=(
            "tests/unit/agent/test_guard.py::test_arguments_that_do_not_fit_are_not_executed_and_say_why",
        ),
    ),
    Mutant(
        "arguments are within the assistant's limits",
        2,
        "src/agent/verdict.py",
        old='excess = policy.excess(tool, call["args"])',
        new="excess = None",
        tests=("tests/unit/agent/test_guard.py::test_a_call_beyond_its_limits_is_not_executed",),
    ),
    Mutant(
        "shadow mode is asked for",
        2,
        "src/agent/verdict.py",
        old='if excess is not None and policy.context.policy_mode != "shadow":',
        new="if excess is not None and not policy.context.policy_mode:",
        tests=("tests/unit/agent/test_guard.py::test_a_call_beyond_its_limits_is_not_executed",),
    ),
    Mutant(
        "a number is at most its maximum",
        2,
        "src/agent/policy.py",
        old="if limit.maximum is not None and not value <= limit.maximum:",
        new="if limit.maximum is not None and value > limit.maximum + 1e18:",
        tests=("tests/unit/agent/test_policy.py::test_a_number_outside_the_limits_or_no_number_is_denied",),
    ),
    Mutant(
        "a number is finite",
        2,
        "src/agent/policy.py",
        old='return "must be a finite number"',
        new="return None",
        tests=("tests/unit/agent/test_policy.py::test_a_number_outside_the_limits_or_no_number_is_denied",),
    ),
    Mutant(
        "a limited argument is given",
        2,
        "src/agent/policy.py",
        old='return "must be given, because its values are limited"',
        new="return None",
        tests=("tests/unit/agent/test_policy.py::test_a_number_outside_the_limits_or_no_number_is_denied",),
    ),
    Mutant(
        "a text has its prefix",
        2,
        "src/agent/policy.py",
        old="if limit.prefix is not None and not str(value).startswith(limit.prefix):",
        new="if False:",
        tests=("tests/unit/agent/test_policy.py::test_a_prefix_is_the_beginning_of_the_text",),
    ),
    Mutant(
        "arguments that were cut off are not executed",
        2,
        "src/agent/history/calls.py",
        old='_CUT = frozenset({"length", "content_filter"})',
        new='_CUT = frozenset({""})',
        tests=("tests/graph/test_react.py::test_a_cut_amount_is_not_paid",),
    ),
    Mutant(
        "arguments that a stream left broken are not executed",
        2,
        "src/agent/history/calls.py",
        old="    if raw is not None:\n",
        new="    if False:\n",
        tests=(
            (
                "tests/unit/history/test_calls.py::"
                "test_a_streamed_call_whose_arguments_were_completed_by_the_client_is_unreadable"
            ),
        ),
    ),
    Mutant(
        "unreadable arguments are not executed",
        2,
        "src/agent/verdict.py",
        old='if UNREADABLE in call["args"]:',
        new="if False:",
        tests=(
            (
                "tests/unit/agent/test_guard.py::"
                "test_arguments_that_were_no_json_are_answered_and_not_executed"
            ),
        ),
    ),
    Mutant(
        "no tool runs outside the guard",
        2,
        "src/agent/execution.py",
        old="        if call is None:\n            raise RunRefused",
        new=(
            "        if call is None:\n"
            '            call = ToolCall(tenant="", principal="", thread="", call_id="")\n'
            "        if call.key is None:\n"
            "            raise RunRefused"
        ),
        tests=("tests/unit/agent/test_guard.py::test_no_tool_runs_outside_the_guard",),
    ),
    Mutant(
        "a result can't close its frame",
        2,
        "src/agent/framing.py",
        old="return _rewritten(text, _escaped, more=more)",
        new="return text",
        tests=("tests/unit/agent/test_framing.py::test_an_attack_is_neutralised_and_can_be_read_back",),
    ),
)

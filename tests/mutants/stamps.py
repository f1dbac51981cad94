"""Guards of invariant 2 at the door and by its stamp: nothing runs that the server did not let in."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "the stamp binds the run",
        2,
        "src/agent/stamp.py",
        old='            "run": key.run,\n',
        new="",
        tests=("tests/unit/agent/test_stamp.py::test_a_stamp_copied_to_another_run_is_refused",),
    ),
    Mutant(
        "the stamp binds the thread",
        2,
        "src/agent/stamp.py",
        old='            "thread": key.thread,\n',
        new="",
        tests=("tests/unit/agent/test_stamp.py::test_a_stamp_copied_to_another_run_is_refused",),
    ),
    Mutant(
        "the stamp binds the assistant",
        2,
        "src/agent/stamp.py",
        old='            "assistant": key.assistant,\n',
        new="",
        tests=("tests/unit/agent/test_stamp.py::test_a_stamp_copied_to_another_run_is_refused",),
    ),
    Mutant(
        "the stamp binds the principal",
        2,
        "src/agent/stamp.py",
        old='            "principal": stamp.principal,\n',
        new="",
        tests=("tests/unit/agent/test_stamp.py::test_a_changed_principal_is_refused",),
    ),
    Mutant(
        "the stamp binds the roles",
        2,
        "src/agent/stamp.py",
        old='            "roles": list(stamp.roles),\n',
        new="",
        tests=("tests/unit/agent/test_stamp.py::test_changed_roles_are_refused",),
    ),
    Mutant(
        "the stamp binds the attendance",
        2,
        "src/agent/stamp.py",
        old='            "unattended": stamp.unattended,\n',
        new="",
        tests=("tests/unit/agent/test_stamp.py::test_a_changed_attendance_is_refused_both_ways",),
    ),
    Mutant(
        "the stamp binds the context",
        2,
        "src/agent/stamp.py",
        old='            "context": context_digest(context),\n',
        new="",
        tests=("tests/unit/agent/test_stamp.py::test_a_context_that_was_changed_after_the_door_is_refused",),
    ),
    Mutant(
        "a stamp is compared with the server's own",
        2,
        "src/agent/stamp.py",
        old='if hmac.compare_digest(mac.encode(), stamp.mac.encode(errors="replace")):',
        new="if mac:",
        tests=("tests/unit/agent/test_stamp.py::test_a_forged_mac_is_refused",),
    ),
    Mutant(
        "no model call without a stamp",
        2,
        "src/agent/middleware/admission.py",
        old="        admitted(context_of(request.runtime))\n",
        new="",
        tests=(
            (
                "tests/unit/agent/test_admission.py::"
                "test_neither_a_model_nor_a_tool_is_reached_without_a_stamp"
            ),
        ),
    ),
    Mutant(
        "no tool call without a stamp",
        2,
        "src/agent/middleware/admission.py",
        old="        admitted(call_context(request))\n",
        new="",
        tests=(
            (
                "tests/unit/agent/test_admission.py::"
                "test_neither_a_model_nor_a_tool_is_reached_without_a_stamp"
            ),
        ),
    ),
    Mutant(
        "what was verified counts for its own run",
        2,
        "src/agent/middleware/admission.py",
        old="found.context is context and found.key == key",
        new="found.context is context",
        tests=("tests/unit/agent/test_admission.py::test_a_verified_context_is_of_no_use_to_another_run",),
    ),
    Mutant(
        "a graph is not run by its name",
        2,
        "src/assistants/server/door.py",
        old=("if request.assistant in {uuid.uuid5(GRAPHS_NAMESPACE, graph) for graph in graphs}:"),
        new="if False:",
        tests=("tests/unit/server/test_door.py::test_a_graph_cannot_be_run_by_its_name",),
    ),
    Mutant(
        "a client sends no command but resume",
        2,
        "src/assistants/server/door.py",
        old="    if extra:\n",
        new="    if False:\n",
        tests=("tests/unit/server/test_door.py::test_a_client_cannot_steer_the_graph",),
    ),
    Mutant(
        "a client resumes or speaks, not both",
        2,
        "src/assistants/server/door.py",
        old="if command and request.input is not None:",
        new="if False:",
        tests=("tests/unit/server/test_door.py::test_a_run_resumes_or_takes_a_message",),
    ),
    Mutant(
        "a client's messages are a person's",
        2,
        "src/assistants/server/door.py",
        old='if not named or any(name not in ("user", "human") for name in named):',
        new="if not named:",
        tests=("tests/unit/server/test_door.py::test_a_message_of_anybody_else_is_refused_in_every_form",),
    ),
    Mutant(
        "a client's pair is a person's",
        2,
        "src/assistants/server/door.py",
        old='pair[0] in ("user", "human") and ',
        new="",
        tests=("tests/unit/server/test_door.py::test_a_schedule_may_not_send_what_a_client_may_not",),
    ),
    Mutant(
        "a client's message brings no calls",
        2,
        "src/assistants/server/door.py",
        old='        and not fields.get("tool_calls")\n',
        new="",
        tests=("tests/unit/server/test_door.py::test_a_message_that_langchain_could_not_read_is_refused",),
    ),
    Mutant(
        "the door looks at what a client sends",
        2,
        "src/assistants/server/door.py",
        old="refusal = _forged(request, who) or _seatless(request, who)",
        new="refusal = _seatless(request, who)",
        tests=("tests/unit/server/test_door.py::test_a_schedule_may_not_send_what_a_client_may_not",),
    ),
    Mutant(
        "a client pauses no run at nodes",
        2,
        "src/assistants/server/door.py",
        old="if not request.pauses:",
        new="if True:",
        tests=("tests/unit/server/test_door.py::test_a_client_can_not_pause_a_run",),
    ),
    Mutant(
        "a client reaches no switch of the engine",
        2,
        "src/assistants/server/door.py",
        old=" and not key.startswith(_ENGINE)",
        new="",
        tests=("tests/unit/server/test_door.py::test_a_client_cannot_reach_the_engine_s_switches",),
    ),
    Mutant(
        "a client's own configurable is dropped",
        2,
        "src/assistants/server/auth.py",
        old='    config["configurable"].clear()\n',
        new="",
        tests=("tests/unit/server/test_auth.py::test_a_run_is_written_as_the_door_decided",),
    ),
    Mutant(
        "a client's own context is replaced",
        2,
        "src/assistants/server/auth.py",
        old='kwargs["context"] = verdict.context.total()',
        new='kwargs.setdefault("context", verdict.context.total())',
        tests=("tests/unit/server/test_auth.py::test_a_run_is_written_as_the_door_decided",),
    ),
    Mutant(
        "a person's state is written by runs only",
        2,
        "src/assistants/server/access.py",
        old='if "metadata" not in value and "action" not in value:',
        new="if False:",
        tests=("tests/unit/server/test_access.py::test_a_user_cannot_write_a_thread_s_state",),
    ),
    Mutant(
        "what one assistant left open no other goes on with",
        2,
        "src/assistants/server/door.py",
        old="if request.input is None and last != request.assistant:",
        new="if False:",
        tests=(
            "tests/unit/server/test_door.py::test_what_one_assistant_left_open_another_does_not_go_on_with",
        ),
    ),
)

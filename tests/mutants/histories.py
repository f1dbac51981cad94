"""Guards of invariant 3: every history is valid, and nothing that happened is called undone."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a call without a result is answered",
        3,
        "src/agent/history/repair.py",
        old="yield from (_answer(slot, outcomes) for slot in slots)",
        new="yield from (_answer(slot, outcomes) for slot in slots if slot.result)",
        tests=(
            (
                "tests/unit/history/test_repair.py::"
                "test_whatever_a_thread_holds_a_strict_endpoint_takes_the_repair"
            ),
        ),
    ),
    Mutant(
        "a result that answers nothing goes",
        3,
        "src/agent/history/repair.py",
        old="            elif not isinstance(message, ToolMessage):\n",
        new=(
            "            elif not isinstance(message, ToolMessage) or message.tool_call_id not "
            "in str(self._slots):\n"
        ),
        tests=(
            (
                "tests/unit/history/test_repair.py::"
                "test_whatever_a_thread_holds_a_strict_endpoint_takes_the_repair"
            ),
        ),
    ),
    Mutant(
        "results stand in the order of the calls",
        3,
        "src/agent/history/repair.py",
        old="slot = next(slot for slot in open_slots if slot.opener == latest)",
        new="slot = open_slots[-1]",
        tests=(
            (
                "tests/unit/history/test_repair.py::"
                "test_equal_and_empty_ids_within_a_turn_get_their_results_in_order"
            ),
        ),
    ),
    Mutant(
        "call ids are unique in a thread",
        3,
        "src/agent/history/repair.py",
        old='identity = unique(call["id"], taken=taken, fresh=fresh)',
        new='identity = call["id"] or fresh(0)',
        tests=(
            (
                "tests/unit/history/test_repair.py::"
                "test_whatever_a_thread_holds_a_strict_endpoint_takes_the_repair"
            ),
        ),
    ),
    Mutant(
        "message ids are unique in a thread",
        3,
        "src/agent/history/repair.py",
        old="identity = unique(message.id, taken=taken, fresh=fresh)",
        new="identity = message.id or fresh(0)",
        tests=(
            (
                "tests/unit/history/test_repair.py::"
                "test_whatever_a_thread_holds_a_strict_endpoint_takes_the_repair"
            ),
        ),
    ),
    Mutant(
        "a blank turn goes",
        3,
        "src/agent/history/repair.py",
        old="said = _identified([message for message in prepared if not blank(message)])",
        new="said = _identified(prepared)",
        tests=(
            (
                "tests/unit/history/test_repair.py::"
                "test_whatever_a_thread_holds_a_strict_endpoint_takes_the_repair"
            ),
        ),
    ),
    Mutant(
        "null bytes and half surrogates leave a mark",
        3,
        "src/agent/history/text.py",
        old="return _BROKEN.sub(_REPLACEMENT, joined)",
        new="return joined",
        tests=("tests/unit/history/test_text.py::test_sound_values_can_be_written_as_json_and_utf_8",),
    ),
    Mutant(
        "integers beyond 64 bits become text",
        3,
        "src/agent/history/text.py",
        old="return value if _LEAST <= value <= _MOST else str(value)",
        new="return value",
        tests=("tests/unit/history/test_text.py::test_integers_that_a_checkpoint_can_not_hold_become_text",),
    ),
    Mutant(
        "a new answer's call ids are new",
        3,
        "src/agent/history/answer.py",
        old=('identity = unique(call["id"], taken=taken, fresh=lambda _: f"call_{uuid.uuid4().hex}")'),
        new='identity = call["id"] or f"call_{uuid.uuid4().hex}"',
        tests=(
            (
                "tests/unit/history/test_answer.py::"
                "test_an_endpoint_that_counts_calls_anew_cannot_name_one_twice"
            ),
        ),
    ),
    Mutant(
        "a new answer replaces no message",
        3,
        "src/agent/history/answer.py",
        old="identity = unique(whole.id, taken=ids, fresh=lambda _: str(uuid.uuid4()))",
        new="identity = whole.id or str(uuid.uuid4())",
        tests=("tests/unit/history/test_answer.py::test_an_answer_never_replaces_an_earlier_message",),
    ),
    Mutant(
        "an empty answer is said to be empty",
        3,
        "src/agent/history/answer.py",
        old='return turn.model_copy(update={"content": text})',
        new="return turn",
        tests=("tests/unit/history/test_answer.py::test_silence_becomes_visible_words",),
    ),
    Mutant(
        "what is sent is repaired",
        3,
        "src/agent/middleware/history.py",
        old='handler(request.override(messages=cast("list[AnyMessage]", [*after])))',
        new="handler(request)",
        tests=(
            "tests/graph/test_history.py::test_a_cancelled_thread_takes_the_next_message_and_says_stopped",
        ),
    ),
    Mutant(
        "a repair is written into the thread",
        3,
        "src/agent/middleware/history.py",
        old="        if not patch:\n",
        new="        if True:\n",
        tests=(
            "tests/graph/test_history.py::test_a_cancelled_thread_takes_the_next_message_and_says_stopped",
        ),
    ),
    Mutant(
        "what stands behind a repair moves with it",
        3,
        "src/agent/history/patch.py",
        old='gone = [RemoveMessage(id=message.id or "") for message in before[kept:]]',
        new="gone = list[RemoveMessage]()",
        tests=("tests/unit/history/test_patch.py::test_both_reducers_arrive_at_the_repair",),
    ),
    Mutant(
        "a finished call's result is not lost",
        3,
        "src/agent/history/results.py",
        old="        if found is not None:\n",
        new="        if False:\n",
        tests=("tests/graph/test_history.py::test_what_had_happened_before_the_cancel_is_not_called_undone",),
    ),
    Mutant(
        "a finished call is recorded though its run is cancelled",
        3,
        "src/agent/middleware/guard.py",
        old="await asyncio.shield(self._record(attempt, verdict, answer, latency))",
        new="await self._record(attempt, verdict, answer, latency)",
        tests=(
            (
                "tests/unit/agent/test_endings.py::"
                "test_what_a_tool_did_is_recorded_though_its_run_is_cancelled_meanwhile"
            ),
        ),
    ),
    Mutant(
        "a write that may have happened is not called undone",
        3,
        "src/agent/middleware/history.py",
        old="return unknown(call) if began else unbegun(call)",
        new="return unbegun(call)",
        tests=(
            "tests/graph/test_history.py::test_a_cancelled_thread_takes_the_next_message_and_says_stopped",
        ),
    ),
    Mutant(
        "a write's beginning is recorded",
        3,
        "src/agent/middleware/guard.py",
        old='if limits.tool_calls is None and tool.risk == "read":',
        new="if limits.tool_calls is None:",
        tests=(
            "tests/graph/test_history.py::test_a_cancelled_thread_takes_the_next_message_and_says_stopped",
        ),
    ),
    Mutant(
        "a tool that raises does not end the run",
        3,
        "src/agent/execution.py",
        old="except Exception:  # whatever",
        new="except MemoryError:  # whatever",
        tests=(
            "tests/unit/agent/test_guard.py::test_a_tool_that_breaks_tells_the_model_nothing_of_the_inside",
        ),
    ),
    Mutant(
        "a tool that hangs is given up",
        3,
        "src/agent/execution.py",
        old="async with asyncio.timeout(tool.timeout):",
        new="async with asyncio.timeout(20):",
        tests=(
            (
                "tests/unit/agent/test_endings.py::"
                "test_a_tool_that_never_comes_back_holds_its_run_for_its_own_time_only"
            ),
        ),
    ),
    Mutant(
        "arguments that can't be stored stay out of the thread",
        3,
        "src/agent/history/calls.py",
        old='(cut or not _storable(call["args"]))',
        new="cut",
        tests=(
            (
                "tests/unit/history/test_calls.py::"
                "test_a_call_that_no_checkpoint_can_hold_is_answered_and_not_executed"
            ),
        ),
    ),
    Mutant(
        "a client's message replaces none of the thread",
        3,
        "src/assistants/server/door.py",
        old="known = sorted(message_ids(request.input) & request.taken)",
        new="known = list[str]()",
        tests=(
            (
                "tests/unit/server/test_door.py::"
                "test_a_message_that_would_replace_one_of_the_thread_is_refused"
            ),
        ),
    ),
)

"""LangChain's callbacks, turned into spans: a run, its nodes, its model calls, its tool calls.

The callbacks travel with a run's configuration and name their parents, so a model that a tool or a
summariser calls lands below it. They run inline and never wait: handing spans on is the exporter thread's
work. What they raise, LangChain logs and ignores.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langgraph.constants import TAG_NOSTREAM

from agent.telemetry.call import EXECUTED, Call, only_call, result_of
from agent.telemetry.chat import answered, requested
from agent.telemetry.identity import Identity
from agent.telemetry.outcome import INTERRUPTED, OK, Outcome, of_exception, of_result
from agent.telemetry.spans import Branch, Spans

_TASK = "graph:step:"  # langgraph's tag of a node's task

Given = Any  # LangChain passes each callback what it has, and more with every version


class SpanHandler(BaseCallbackHandler):
    """Records the runs of one graph.

    Args:
        spans: Where to.
        graph: The graph's name.
        tools: Wire names of its tools; other names of calls are not told.
    """

    run_inline = True

    def __init__(self, spans: Spans, *, graph: str, tools: Collection[str]) -> None:
        self._spans = spans
        self._graph = graph
        self._tools = frozenset(tools)

    def on_chain_start(
        self,
        serialized: Given,
        inputs: Given,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Given,
    ) -> None:
        """A run, a node, or a step that has no span of its own."""
        about = metadata or {}
        if parent_run_id is None:
            identity, attempt = Identity.announced(about, run=str(run_id)), about.get("run_attempt")
            number = attempt if isinstance(attempt, int) else 1
            self._spans.begin_run(run_id, identity, graph=self._graph, attempt=number)
            return
        parent = self._spans.find(parent_run_id)
        if parent is None:
            return
        name = str(kwargs.get("name"))
        if name == about.get("langgraph_node") and any(tag.startswith(_TASK) for tag in tags or ()):
            self._begin_node(run_id, parent, name, inputs)
        else:
            self._spans.pass_through(run_id, parent)

    def on_chain_end(self, outputs: Given, *, run_id: UUID, **kwargs: Given) -> None:
        """The end of what `on_chain_start` began."""
        branch = self._spans.end(run_id)
        if branch is None:
            return
        if branch.call is not None:
            branch.call.finish(of_result(result_of(branch.call_id, outputs)))
            branch.call = None
        self._finish(branch, OK)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Given) -> None:
        """A failure, an interrupt or a cancellation."""
        branch = self._spans.end(run_id)
        if branch is not None:
            outcome = of_exception(error)
            branch.run.interrupted |= outcome is INTERRUPTED
            self._finish(branch, outcome)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Given,
    ) -> None:
        """One request to a model: a retry and a fallback are further ones."""
        parent = self._spans.find(parent_run_id)
        if parent is None or self._spans.find(run_id) is not None:
            return
        self._spans.confirm(parent.run)
        parent.run.model_calls += 1
        purpose = "internal" if TAG_NOSTREAM in (tags or ()) else "answer"
        attributes = {
            **requested(kwargs.get("invocation_params") or {}, metadata or {}),
            "signalbox.model.purpose": purpose,
            "signalbox.model.attempt": parent.failures.get(purpose, 0) + 1,
        }
        name = f"chat {attributes.get('gen_ai.request.model', '')}".strip()
        branch = self._spans.begin(parent, name, kind="model", attributes=attributes, remote=True)
        branch.purpose = purpose
        self._spans.keep(run_id, branch)

    def on_llm_new_token(self, token: Given, *, run_id: UUID, **kwargs: Given) -> None:
        """The first piece of a streamed answer is worth a number: how long it took."""
        branch = self._spans.find(run_id)
        if branch is not None and branch.purpose and branch.waiting:
            branch.waiting = False
            took = time.perf_counter() - branch.began
            branch.span.set_attribute("gen_ai.response.time_to_first_chunk", took)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Given) -> None:
        """The answer: what it used, never what it says."""
        branch = self._spans.end(run_id)
        if branch is None:
            return
        answer = answered(response)
        branch.run.input_tokens += answer.input_tokens
        branch.run.output_tokens += answer.output_tokens
        branch.span.set_attributes(answer.attributes)
        _above(branch).failures.pop(branch.purpose, None)
        branch.finish(OK)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Given) -> None:
        """The request failed; the next one of the same purpose is a further attempt."""
        branch = self._spans.end(run_id)
        if branch is not None:
            failures = _above(branch).failures
            failures[branch.purpose] = failures.get(branch.purpose, 0) + 1
            branch.finish(of_exception(error))

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Given,
    ) -> None:
        """A call reaches its tool; where no task announced it, its span begins here."""
        parent = self._spans.find(parent_run_id)
        if parent is None:
            return
        self._spans.confirm(parent.run)
        if parent.call is not None:
            parent.call.span.set_attribute(EXECUTED, True)  # noqa: FBT003 - as OpenTelemetry takes it
            self._spans.pass_through(run_id, parent.call)
        elif self._spans.find(run_id) is None:
            call = Call(str((serialized or {}).get("name", "")), str(kwargs.get("tool_call_id") or ""))
            self._spans.keep(run_id, self._begin_call(parent, call, executed=True))

    def on_tool_end(self, output: Given, *, run_id: UUID, **kwargs: Given) -> None:
        """The tool returned."""
        branch = self._spans.end(run_id)
        if branch is not None:
            branch.finish(OK)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Given) -> None:
        """The tool raised."""
        branch = self._spans.end(run_id)
        if branch is not None:
            branch.finish(of_exception(error))

    def _begin_node(self, run_id: UUID, parent: Branch, name: str, inputs: Given) -> None:
        if self._spans.find(run_id) is not None:
            return
        branch = self._spans.begin(parent, f"node {name}", kind="node", attributes={"signalbox.node": name})
        self._spans.keep(run_id, branch)
        call = only_call(inputs, tools=self._tools)
        if call is not None:
            branch.call_id = call.id
            branch.call = self._begin_call(branch, call, executed=False)

    def _begin_call(self, parent: Branch, call: Call, *, executed: bool) -> Branch:
        parent.run.tool_calls += 1
        attributes = {**call.attributes(), EXECUTED: executed}
        return self._spans.begin(parent, f"execute_tool {call.tool}", kind="tool", attributes=attributes)

    def _finish(self, branch: Branch, outcome: Outcome) -> None:
        if branch.parent is not None:
            branch.finish(outcome)
        else:
            ended = INTERRUPTED if outcome is OK and branch.run.interrupted else outcome
            self._spans.end_run(branch, ended)


def _above(branch: Branch) -> Branch:
    return branch.parent or branch

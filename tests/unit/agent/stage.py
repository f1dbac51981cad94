"""The middleware on a stage: the agent's own stack around a model that says what a test tells it to."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - untyped saver
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from pydantic import Field

from agent.context import AgentContext, ModelChoice
from agent.ledger import Ledger
from agent.middleware.admission import Admission
from agent.middleware.guard import ToolGuard, served
from agent.middleware.model import AssistantModel, Unbound
from agent.models import Models, Retry
from agent.stamp import RunKey, sign
from agent.tools.registry import Registry

SECRET = "the secret of the test's server"


class Speaker(BaseChatModel):
    """Says its lines in order (an exception is raised) and keeps what it was shown."""

    lines: list[Any]
    heard: list[list[BaseMessage]] = Field(default_factory=list[list[BaseMessage]])
    shown: list[list[str]] = Field(default_factory=list[list[str]])

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        self.shown.append([tool.name for tool in tools if isinstance(tool, BaseTool)])
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.heard.append(messages)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return ChatResult(generations=[ChatGeneration(message=line)])


class Cast(Models):
    """Speakers by model name, in the place of real clients."""

    def __init__(self, **speakers: Speaker) -> None:
        super().__init__(retry=Retry(attempts=1))
        self._speakers = speakers
        self.asked: list[str] = []

    async def get(self, choice: ModelChoice) -> BaseChatModel:
        name = choice.name.partition(":")[2]
        self.asked.append(name)
        return self._speakers[name]


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    """A message of the model with these tool calls, whose ids are `call-0`, `call-1`, …"""
    made = [
        {"name": name, "args": arguments, "id": f"call-{number}", "type": "tool_call"}
        for number, (name, arguments) in enumerate(wanted)
    ]
    return AIMessage(content="", tool_calls=made)


async def run(
    registry: Registry,
    models: Models,
    context: AgentContext | None,
    *,
    stamped: bool = True,
    unattended: bool = False,
) -> list[BaseMessage]:
    """One turn of the agent, admitted as the door admits runs; gives the thread's messages."""
    with tempfile.TemporaryDirectory() as home:
        ledger = Ledger(f"sqlite+aiosqlite:///{home}/ledger.db")
        try:
            return await _run(registry, models, context, ledger, stamped=stamped, unattended=unattended)
        finally:
            await ledger.dispose()


async def _run(
    registry: Registry,
    models: Models,
    context: AgentContext | None,
    ledger: Ledger,
    *,
    stamped: bool,
    unattended: bool,
) -> list[BaseMessage]:
    graph: Any = create_agent(
        model=Unbound(),
        tools=served(registry),
        middleware=[Admission(), ToolGuard(registry, ledger), AssistantModel(models, ledger)],
        context_schema=AgentContext,
    )
    key = RunKey(run=str(uuid.uuid4()), thread="thread-1", assistant=str(uuid.uuid4()))
    if context is not None and stamped:
        stamp = sign(context, key, principal="acme/u1", unattended=unattended, secret=SECRET.encode())
        context = context.model_copy(update={"stamp": stamp})
    configurable = {"run_id": key.run, "thread_id": key.thread, "assistant_id": key.assistant}
    state = await graph.ainvoke(
        {"messages": [{"role": "user", "content": "please"}]}, {"configurable": configurable}, context=context
    )
    return state["messages"]


def results(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    """The results of tool calls among messages."""
    return [message for message in messages if isinstance(message, ToolMessage)]


def refusal(message: ToolMessage) -> dict[str, str]:
    """What a refused call's result says: `error` and `message`."""
    assert message.status == "error"
    return json.loads(str(message.content))

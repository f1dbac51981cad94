"""An answer in a schema, from endpoints that each know another way to give one (B-65).

The profile says which way, so nothing is tried out on a run. The answer is checked by the program whatever
the endpoint promises; one that does not fit goes back once with what is wrong, and then the call has failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ValidationError

from agent.errors import AgentError
from agent.models.dialect import DialectChat

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n?```", re.DOTALL)
_PREVIEW = 2_000  # characters of a wrong answer that its author is shown again

Schema = TypeVar("Schema", bound=BaseModel)


class StructuredAnswerInvalid(AgentError):
    """The model did not answer in the schema."""

    code = "structured_answer_invalid"


async def ask(model: DialectChat, messages: Sequence[BaseMessage], *, schema: type[Schema]) -> Schema:
    """The model's answer to `messages` as a `schema`, in the way of the model's endpoint.

    Two calls at most; wrap it in `Models.answer` for retries and fallbacks.

    Raises:
        StructuredAnswerInvalid: The second answer did not fit either.
        ModelError, OpenAIError: The endpoint failed.
    """
    bound, sent = _bound(model, schema), _told(model, messages, schema)
    answer = await bound.ainvoke(sent)
    try:
        return _read(answer, schema)
    except ValidationError as error:
        wrong = _faults(error)
    again = [*sent, AIMessage(_shown(answer)), HumanMessage(_repair(wrong, schema))]
    answer = await bound.ainvoke(again)
    try:
        return _read(answer, schema)
    except ValidationError as error:
        raise StructuredAnswerInvalid(
            f"The model gave no valid {schema.__name__!r} in two answers: {_faults(error)} Choose a model "
            "that can, or simplify the schema."
        ) from None


def _bound(model: DialectChat, schema: type[BaseModel]) -> Any:  # noqa: ANN401 - a runnable over messages
    function = convert_to_openai_tool(schema)["function"]
    match model.dialect.structured:
        case "json_schema":
            wanted = {"name": function["name"], "schema": schema.model_json_schema()}
            return model.bind(response_format={"type": "json_schema", "json_schema": wanted})
        case "json_mode":
            return model.bind(response_format={"type": "json_object"})
        case "function_calling":  # a forced choice is left out where the endpoint refuses one
            return model.bind_tools([schema], tool_choice=function["name"], parallel_tool_calls=False)


def _told(model: DialectChat, messages: Sequence[BaseMessage], schema: type[BaseModel]) -> list[BaseMessage]:
    """The messages; where the endpoint enforces no schema, with words that ask for it at the end.

    JSON mode is refused, or answers with blanks for ever, unless the word JSON is there (field case 82).
    """
    dialect = model.dialect
    if dialect.structured == "json_schema":
        return [*messages]
    if dialect.structured == "function_calling":
        text = f"Answer by calling the tool {schema.__name__} once, with your whole answer as its arguments."
        return [*messages] if dialect.forced_tool_choice else [*messages, SystemMessage(text)]
    form = json.dumps(schema.model_json_schema(), ensure_ascii=False)
    return [
        *messages,
        SystemMessage(f"Answer with one JSON object and nothing else. Its JSON schema: {form}"),
    ]


def _read(answer: AIMessage, schema: type[Schema]) -> Schema:
    """The first call of the schema's tool that fits, else the text; raises what is wrong with the last."""
    calls = [call["args"] for call in answer.tool_calls if call["name"] == schema.__name__]
    for number, arguments in enumerate(calls, start=1):
        try:
            return schema.model_validate(arguments)
        except ValidationError:
            if number == len(calls):
                raise
    text = str(answer.text).strip()
    fenced = _FENCED.search(text)
    return schema.model_validate_json(fenced.group(1) if fenced else text)


def _shown(answer: AIMessage) -> str:
    """The answer as text, so that the repair leaves no tool call unanswered."""
    called = [json.dumps(call["args"], ensure_ascii=False) for call in answer.tool_calls]
    called += [str(call["args"]) for call in answer.invalid_tool_calls]
    return "\n".join([str(answer.text), *called]).strip()[:_PREVIEW] or "(no text)"


def _repair(wrong: str, schema: type[BaseModel]) -> str:
    form = json.dumps(schema.model_json_schema(), ensure_ascii=False)
    return f"That does not fit: {wrong} Give the whole answer again. The JSON schema: {form}"


def _faults(error: ValidationError) -> str:
    found = [
        f"{'.'.join(str(part) for part in fault['loc']) or 'answer'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "; ".join(found[:5]) + "."

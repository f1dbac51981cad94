"""Ask an assistant with langgraph-sdk: steps, tool calls, the tool's row, the answer's tokens as they come.

python examples/stream.py "Where is order 1001?" [tenant/name]

SIGNALBOX_URL and SIGNALBOX_TOKEN say where and as whom; on a developer's machine both may be left out.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

try:
    from langgraph_sdk import get_client
except ImportError:
    sys.exit("langgraph-sdk is missing; use the project's Python: .venv/bin/python examples/stream.py …")

SIGNALBOX = Path(__file__).parent.parent / ".venv" / "bin" / "signalbox"


def signalbox(*arguments: str) -> str:
    """What the signalbox command prints."""
    return subprocess.run([SIGNALBOX, *arguments], check=True, capture_output=True, text=True).stdout


def assistant_id(name: str) -> str:
    """The id of `tenant/name`; an application keeps it in its own configuration."""
    for line in signalbox("ids").splitlines():
        known, found, _graph = line.split()
        if known == name:
            return found
    sys.exit(f"There is no assistant {name!r}; `signalbox ids` lists them.")


async def main(question: str, name: str) -> None:
    """One question on a new thread."""
    tenant = name.split("/", maxsplit=1)[0]
    token = (
        os.environ.get("SIGNALBOX_TOKEN") or signalbox("token", "--tenant", tenant, "--user", "demo").strip()
    )
    url = os.environ.get("SIGNALBOX_URL", "http://127.0.0.1:2024")
    client = get_client(url=url, api_key=None, headers={"Authorization": f"Bearer {token}"})

    thread = await client.threads.create()
    stream = client.runs.stream(
        thread["thread_id"],
        assistant_id(name),
        input={"messages": [{"role": "user", "content": question}]},
        stream_mode=["updates", "messages-tuple"],
    )
    async for part in stream:
        data = cast("Any", part.data)
        if part.event == "messages":
            if data[0]["type"] == "AIMessageChunk":
                print(data[0]["content"], end="", flush=True)
        elif part.event == "updates":
            for node, update in data.items():
                print(f"\n[step] {node}")
                for message in cast("list[dict[str, Any]]", update["messages"]):
                    for call in cast("list[Any]", message.get("tool_calls") or []):
                        print(f"[tool call] {call['name']} {call['args']}")
                    if message["type"] == "tool":
                        print(f"[tool row] {message['content']}")
        elif part.event == "error":
            sys.exit(f"\n[error] {data['message']}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "acme/support"))

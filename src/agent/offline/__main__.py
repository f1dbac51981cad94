"""`python -m agent.offline`: the offline model as a process."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from agent.offline.app import rules_app, script_app
from agent.offline.serving import serving

_READ = 65_536  # bytes


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM, SIGINT or, with `--until-eof`, the end of stdin."""
    options = _options(arguments)
    try:
        asyncio.run(_serve(options))
    except OSError as error:
        sys.exit(str(error.strerror))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m agent.offline", description=__doc__)
    parser.add_argument("--mode", choices=("rules", "script"), required=True, help="who answers")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--pace", type=_pace, default=None, help="tokens per second of a stream (rules)")
    parser.add_argument("--until-eof", action="store_true", help="end when stdin ends")
    return parser.parse_args(arguments)


def _pace(text: str) -> float:
    pace = float(text)
    if not pace > 0:
        raise argparse.ArgumentTypeError(f"pace {text!r} must be above 0 tokens per second")
    return pace


async def _serve(options: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        loop.call_soon_threadsafe(stopped.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    if options.until_eof:
        threading.Thread(target=_watch_stdin, args=(stop,), daemon=True).start()
    app = rules_app(pace=options.pace) if options.mode == "rules" else script_app()
    async with serving(app, port=options.port) as url:
        sys.stdout.write(json.dumps({"url": url, "mode": options.mode}) + "\n")
        sys.stdout.flush()
        await stopped.wait()


def _watch_stdin(stop: Callable[[], None]) -> None:
    # The descriptor, not sys.stdin: its lock would block the interpreter's exit while a read is pending.
    with suppress(OSError):
        while os.read(0, _READ):
            pass
    stop()


if __name__ == "__main__":
    main()

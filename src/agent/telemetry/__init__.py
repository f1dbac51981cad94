"""Telemetry: where the time and the tokens of a run went, as OpenTelemetry spans (B-120).

* `identity`: whose run it is; five facts on every span.
* `outcome`: how something ended, without a word of what was said.
* `chat`, `call`: what a model call and a tool call may tell.
* `spans`: the spans under way, each below the one that caused it.
* `handler`: LangChain's callbacks, turned into spans.
* `destination`: where spans go, by the standard `OTEL_` variables.
* `telemetry`, `process`: all of it for a graph; the one of this process.
"""

"""The offline model: a small OpenAI-compatible server, ruled by words without a key or by a script in tests.

`python -m agent.offline --mode rules|script` starts it as a process, `agent.offline.serving.serving` inside a
running loop. It is a demonstration and a test stand, not a language model, and says so in every response.
"""

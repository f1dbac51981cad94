"""The rules of the offline model: pure functions from a conversation and its tools to a reply."""

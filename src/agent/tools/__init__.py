"""The tool registry and the tools."""

"""The harness, one concern a file."""

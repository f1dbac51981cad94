"""The signalbox command."""

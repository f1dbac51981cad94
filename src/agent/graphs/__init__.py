"""The graphs, one file each."""

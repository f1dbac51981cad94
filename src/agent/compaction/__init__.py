"""Compaction: the thread keeps everything, the model gets a view that fits (B-30)."""

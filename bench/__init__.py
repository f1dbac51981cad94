"""Benchmarks: ratios against a stock stack in the same run, never wall time on its own."""

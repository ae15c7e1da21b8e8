"""Baselines: what a fleet without a model could do, judged on the same events."""

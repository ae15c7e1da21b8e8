"""Samples that hosts push: checked, gathered, and acknowledged when they are durably kept."""

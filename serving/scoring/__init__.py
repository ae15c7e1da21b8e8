"""Batch and ad-hoc scores, and the models behind them."""

"""Synthetic fleets: small committed samples and the generator that makes larger ones."""

"""Tiles, windows, physics, labels and splits: Parquet in, one row a module out."""

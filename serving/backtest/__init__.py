"""Back-tests over the lake: folds, comparisons."""

"""The joint predictor and failure-type classifier, its baselines, alarm policy and judge."""

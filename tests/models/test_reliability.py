"""Whether risks mean what they say, on arrays with a known answer."""

import numpy as np
import pytest

from models.reliability import brier_skill, calibration_line, observed_expected


class TestReliability:
    def test_calibrated_risks_have_slope_one_and_too_extreme_ones_less(self) -> None:
        rng = np.random.default_rng(1)
        risks = rng.uniform(0.01, 0.6, 20_000)
        outcomes = (rng.uniform(size=risks.size) < risks).astype(float)
        odds = risks / (1 - risks)

        calibrated = calibration_line(risks, outcomes)
        extreme = calibration_line(odds**2 / (1 + odds**2), outcomes)

        assert calibrated is not None
        assert extreme is not None
        assert pytest.approx(1.0, abs=0.05) == calibrated[1]
        assert pytest.approx(0.5, abs=0.05) == extreme[1]

    def test_where_nothing_failed_there_is_no_slope_and_no_skill(self) -> None:
        assert calibration_line([0.1, 0.2], [0, 0]) is None
        assert calibration_line([0.1, 0.1], [0, 1]) is None
        assert brier_skill([0.1, 0.2], [0, 0]) is None

    def test_everyone_at_the_mean_rate_has_no_skill(self) -> None:
        assert pytest.approx(0.0) == brier_skill([0.25] * 4, [0, 0, 0, 1])

    def test_the_top_bins_compare_observed_with_expected(self) -> None:
        """Of ten rows the top one is the last bin: risk 0.9, and it failed; the nine others expect 0.9 and see none."""
        bins = observed_expected([0.1] * 9 + [0.9], [0] * 9 + [1], quantiles=(0.0, 0.9))

        assert [(9, 0), (1, 1)] == [(bin_.rows, bin_.observed) for bin_ in bins]
        assert [pytest.approx(0.0), pytest.approx(1 / 0.9)] == [bin_.ratio for bin_ in bins]

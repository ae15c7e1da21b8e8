"""Margin to BER to codewords: the published tables."""

import numpy as np
import pytest

from data_samples.fec import ber_at_margin, codeword_error_ratio, log10_ber, symbol_error_share, uncorrectable
from data_samples.media import MEDIA


@pytest.mark.parametrize(
    ("margin_db", "ber"),
    [(-1, 2.5e-3), (-0.5, 8.8e-4), (0, 2.4e-4), (0.5, 4.8e-5), (1, 6.5e-6), (1.5, 5.3e-7), (2, 2.4e-8), (3, 3.6e-12)],
)
def test_pam4_errors_follow_the_margin(margin_db: float, ber: float) -> None:
    assert ber == pytest.approx(ber_at_margin(margin_db, pam4=True, ber_limit=2.4e-4), rel=0.03)


@pytest.mark.parametrize(("margin_db", "ber"), [(0, 5e-5), (1, 4.8e-7), (2, 3.5e-10), (3, 4e-15)])
def test_nrz_errors_follow_the_margin(margin_db: float, ber: float) -> None:
    assert ber == pytest.approx(ber_at_margin(margin_db, pam4=False, ber_limit=5e-5), rel=0.15)


@pytest.mark.parametrize("name", MEDIA)
def test_the_table_agrees_with_the_formula(name: str) -> None:
    media = MEDIA[name]
    margins = np.linspace(-2, 2.5, 101, dtype=np.float32)

    exact = [ber_at_margin(float(m), pam4=media.pam4, ber_limit=media.ber_limit) for m in margins]

    assert np.allclose(np.maximum(np.log10(exact), -18), log10_ber(margins, media), atol=0.06)


@pytest.mark.parametrize(
    ("ber", "ratio"), [(1e-4, 1.4e-18), (1.5e-4, 7.0e-16), (2.4e-4, 8.2e-13), (3e-4, 2.1e-11), (5e-4, 2.8e-8)]
)
def test_kp4_leaves_the_published_share_of_codewords(ber: float, ratio: float) -> None:
    assert ratio == pytest.approx(codeword_error_ratio(ber, "KP4"), rel=0.05)


def test_kr4_at_its_limit_loses_a_codeword_in_two_minutes() -> None:
    seconds = 1 / (1.95e7 * codeword_error_ratio(5e-5, "KR4"))

    assert seconds == pytest.approx(116, rel=0.05)


def test_nothing_is_lost_at_a_healthy_error_ratio() -> None:
    assert 0.0 == uncorrectable(np.array([1e-8]), "KP4")[0]


def test_codewords_without_any_error_are_as_published() -> None:
    assert symbol_error_share(np.array([1e-4]), "KP4")[0] == pytest.approx(1 - 0.580, rel=0.01)

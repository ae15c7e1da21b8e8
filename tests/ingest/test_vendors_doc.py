"""docs/vendors.md names every profile and every key of the configuration that an operator sets."""

from pathlib import Path

import pytest

from ingest.config import Collect
from ingest.decode.profile import profiles

DOC = (Path(__file__).parents[2] / "docs" / "vendors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("profile", profiles())
def test_every_profile_is_documented(profile: str) -> None:
    assert f"| `{profile}` |" in DOC


@pytest.mark.parametrize("key", [*Collect.model_fields, "community_env", "community_file", "engine", "max_repetitions"])
def test_every_key_of_a_sweep_is_documented(key: str) -> None:
    assert key in DOC

"""Settings from the environment: what is not said has a default, what makes no sense is refused by name."""

import pytest

from ingest.errors import ConfigError
from serving.settings import Settings


def test_what_is_not_said_has_a_default() -> None:
    settings = Settings.from_env({"FORELIGHT_HOME": "/home/x", "FORELIGHT_NO_ACT_SHARE": ""})

    assert (7200.0, 0.0, "/home/x/lake") == (settings.stale_after_s, settings.no_act_share, settings.lake_uri)


def test_what_is_said_counts() -> None:
    settings = Settings.from_env({"FORELIGHT_STALE_AFTER_S": "600", "FORELIGHT_NO_ACT_SHARE": "0.05"})

    assert (600.0, 0.05) == (settings.stale_after_s, settings.no_act_share)


@pytest.mark.parametrize("text", ["abc", "nan", "-0.1", "0.9", "1e999"])
def test_a_share_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"FORELIGHT_NO_ACT_SHARE is '.*': a number from 0 to 0\.5 is needed"):
        Settings.from_env({"FORELIGHT_NO_ACT_SHARE": text})

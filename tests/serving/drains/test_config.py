"""drains.toml: defaults, and errors that say what to do."""

from pathlib import Path

import pytest

from ingest.errors import ConfigError
from serving.drains.config import DrainConfig, load_drain_config
from serving.drains.fabric import LinkClass
from serving.settings import Settings


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert DrainConfig.default() == load_drain_config(tmp_path / "none.toml")


def test_what_a_file_says_holds_and_all_else_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "drains.toml"
    file.write_text('[guard]\ntiers = [["leaf*"], ["spine*"]]\nleast_path_share = 0.9\n[cost.access]\nfailure = 500\n')
    config = load_drain_config(file)

    assert (("leaf*",), ("spine*",)) == config.guard.tiers
    assert (0.9, 1) == (config.guard.least_path_share, config.guard.bundle_min_links)
    assert (500.0, 64.0) == (config.cost_of(LinkClass.ACCESS).failure, config.cost_of(LinkClass.FABRIC).failure)


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="which is no file"):
        Settings.from_env({"FORELIGHT_DRAINS": str(tmp_path / "none.toml")})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[guard]\nleast_path_shar = 0.9", "unknown key 'guard.least_path_shar'; the nearest is 'least_path_share'"),
        ("[gard]\n", "unknown key 'gard'; the nearest is 'guard'"),
        ("[guard]\nleast_path_share = 0.2", "guard.least_path_share: input should be greater than or equal to 0.5"),
        ("[activation]\nshadow_days = 3", "activation.shadow_days: input should be greater than or equal to 28"),
        ("[cost.fabrik]\nfailure = 1", "drains.toml: unknown section [cost.fabrik]; the nearest is [cost.fabric]"),
        ("[cost.fabric]\nfailur = 1", "unknown key 'cost.fabric.failur'; the nearest is 'failure'"),
        (
            "[cost]\nfailure = 1",
            "drains.toml: cost.failure is of a class of links: write it below [cost.fabric] or [cost.access]",
        ),
        ("[guard\n", "Expected"),
    ],
)
def test_an_error_names_the_file_the_place_and_the_remedy(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "drains.toml"
    file.write_text(text)

    with pytest.raises(ConfigError) as refused:
        load_drain_config(file)
    assert str(file) in str(refused.value)
    assert told in str(refused.value)
    assert "input should be a valid" not in str(refused.value)

"""forelight-deliver.toml: what it may say, and errors that help."""

from pathlib import Path

import pytest

from ingest.errors import ConfigError
from serving.adapters.config import KubernetesConfig, WebhookConfig, load_config
from serving.adapters.make import make_adapter

ALL = """
[deliver]
tries = 5

[[adapter]]
kind = "alertmanager"
name = "oncall"
url = "http://alertmanager:9093"

[[adapter]]
kind = "webhook"
name = "itsm"
url = "https://itsm.example/events"
secret_env = "ITSM_SECRET"

[[adapter]]
kind = "nvsentinel"
name = "sentinel"
target = "unix:///var/run/nvsentinel.sock"

[[adapter]]
kind = "kubernetes"
name = "cluster"
max_nodes = 3
"""


def _load(tmp_path: Path, text: str) -> object:
    file = tmp_path / "forelight-deliver.toml"
    file.write_text(text)
    return load_config(file)


def test_each_kind_is_read(tmp_path: Path) -> None:
    file = tmp_path / "forelight-deliver.toml"
    file.write_text(ALL)

    config = load_config(file)

    assert ["alertmanager", "webhook", "nvsentinel", "kubernetes"] == [adapter.kind for adapter in config.adapter]
    assert 5 == config.deliver.tries


def test_where_automation_acts_watch_alarms_are_not_told_unless_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "forelight-deliver.toml"
    file.write_text(ALL)

    assert ["watch", "watch", "act", "act"] == [adapter.min_level for adapter in load_config(file).adapter]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tries = 5", "trys = 5", r"\[deliver\]: unknown key 'trys'; the nearest is 'tries'"),
        ("max_nodes = 3", "max_node = 3", r"cluster: unknown key 'max_node'; the nearest is 'max_nodes'"),
        ("[deliver]", "[delivery]", "the file: unknown key 'delivery'; the nearest is 'deliver'"),
        ("secret_env", "secret", r"\[\[adapter\]\] itsm: unknown key 'secret'; the nearest is 'secret_"),
        ('kind = "webhook"', 'kind = "web"', r"itsm: kind is one of alertmanager, webhook, nvsentinel, kubernetes"),
        ('kind = "webhook"\n', "", r"itsm: kind is one of"),
        ('url = "http://alertmanager:9093"\n', "", r"\[\[adapter\]\] oncall: url is missing"),
        ("http://alertmanager", "http://me:secret@alertmanager", r"\[\[adapter\]\] oncall, url: string should match"),
        ("http://alertmanager", "file:///etc/passwd#", "string should match"),
        ('"itsm"', '"oncall"', "adapter 'oncall' is there twice"),
        ("tries = 5", "tries = 0", r"\[deliver\] tries: input should be greater than or equal to 1"),
        ("[deliver]", "[deliver", "deliver"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _load(tmp_path, ALL.replace(old, new))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[adapter]\nname = "oncall"\n',
            r"adapter is no list: write \[\[adapter\]\] for each, with a name and a kind$",
        ),
        ('[adapter.oncall]\nkind = "webhook"\n', r"adapter is no list: write \[\[adapter\]\] for each"),
        ('adapter = "oncall"\n', r"adapter is no list: write \[\[adapter\]\] for each"),
        ("adapter = []\n", r"there is no adapter: write \[\[adapter\]\] for each$"),
        ('[[adapter]]\nname = "a"\nkind = "webhok"\n', r"kubernetes; the nearest to 'webhok' is 'webhook'$"),
        ('[[adaptor]]\nkind = "webhook"\n', "unknown key 'adaptor'; the nearest is 'adapter'$"),
    ],
)
def test_adapters_that_are_none_are_told_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _load(tmp_path, text)


def test_without_an_adapter_there_is_nothing_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the file: adapter is missing"):
        _load(tmp_path, "[deliver]\n")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: No such file"):
        load_config(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"secret_env": "HOOK_SECRET"}, "adapter hook: the variable HOOK_SECRET holds no secret"),
        ({"secret_file": "/nowhere"}, "adapter hook: the secret in /nowhere cannot be read"),
        ({"token_file": "/dev/null"}, "adapter hook: /dev/null holds no token"),
    ],
)
def test_a_secret_that_is_named_and_not_there_is_an_error_at_the_start(
    given: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOOK_SECRET", raising=False)
    config = WebhookConfig(name="hook", kind="webhook", url="https://itsm.example/", **given)  # type: ignore[arg-type]  # as in a file

    with pytest.raises(ConfigError, match=said):
        make_adapter(config)


def test_no_secret_is_shown_with_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "hidden-1234")
    config = WebhookConfig(name="hook", kind="webhook", url="https://itsm.example/", secret_env="HOOK_SECRET")

    assert "hidden-1234" not in repr(config) + repr(vars(make_adapter(KubernetesConfig(name="k", kind="kubernetes"))))
